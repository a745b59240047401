"""What `certify` adds: how far scores agree with labels that people gave."""

from rag_evaluator.config import Command, Feature, FullPath, Section

COMMANDS = "rag_evaluator.features.certify.command"
STANDING = "rag_evaluator.features.certify.standing"
SHEET = "certify sheet"
FEATURE = Feature(
    commands={
        "certify": Command(f"{COMMANDS}:certify", f"{COMMANDS}:add_certify_command", long=True),
        SHEET: Command(f"{COMMANDS}:sheet", f"{COMMANDS}:add_sheet_command"),
    },
    keys="rag_evaluator.features.certify.feature:CertificateKey",
    hooks={
        "check": f"{STANDING}:check_certificate",
        "end": f"{STANDING}:said_of_run",
        "rewrite": f"{STANDING}:keep_labels",
        "report": "rag_evaluator.features.certify.report:report_part",
        "useful": f"{STANDING}:useful_metrics",
        "doubts": f"{STANDING}:do_not_rely",
    },
    requirements={"certificate": f"{STANDING}:certified"},
    next={"judge not known": (SHEET, "RUN", "--out", "to_label.xlsx")},
)


class CertificateKey(Section):
    """A key of the configuration.

    Attributes:
        certificate: `certificate.json` of `rag-evaluator certify`: what people's labels say of this judge.
    """

    certificate: FullPath | None = None
