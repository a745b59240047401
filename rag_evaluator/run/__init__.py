"""The run protocol: units by columns in chunks, shared by workers, kept the moment they exist, merged at the end."""

from rag_evaluator.facades import facade

__getattr__, __dir__, __all__ = facade(
    __name__,
    {
        "journal": "Journal journals_in",
        "stages": "run_stage work_all",
        "status": "read_finished read_status",
        "table": "Stage Table Work",
        "task": "Cell Plan Record",
        "worker_journal": "WorkerJournal",
        "workers": "DEVICES Worker find_worker parse_worker run_id share_devices",
    },
)
