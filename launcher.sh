#!/bin/bash
# Evaluate on a Slurm cluster:
#   sbatch launcher.sh config.yaml                    one node
#   sbatch --array=0-15 launcher.sh config.yaml       many; the last one to finish writes the results
# Started again, it makes what is missing. docs/hpc.md tells more.
#
# --- adapt to your site ------------------------------------------------------------------------------------------
#SBATCH --job-name=rag-evaluator
##SBATCH --partition=gpu             # remove a # from both lines where your site needs them
##SBATCH --account=project
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1          # processes, each with its share of the GPUs
#SBATCH --cpus-per-task=4
#SBATCH --gres=gpu:1                 # GPUs of a node; a model larger than a GPU gets several with ntasks-per-node=1
#SBATCH --time=04:00:00
#SBATCH --requeue                    # continue elsewhere when the node is lost or the job preempted
#SBATCH --open-mode=append
#SBATCH --signal=USR1@120            # 120 s before the time limit: finish what is in the making, then continue

# module load python/3.11
PROJECT=${PROJECT:-${SLURM_SUBMIT_DIR:-$PWD}}    # a clone of the project, if you work in one
PYTHON=${PYTHON:-$PROJECT/.venv/bin/python}
RESTARTS=${RESTARTS:-20}                         # how often a job may continue after its time limit
# -----------------------------------------------------------------------------------------------------------------

if [ $# -eq 0 ]; then
  echo "usage: sbatch [--array=0-15] launcher.sh config.yaml" >&2
  exit 2
fi
if [ -f "$PROJECT/rag_evaluator/__main__.py" ]; then
  export PYTHONPATH=$PROJECT${PYTHONPATH:+:$PYTHONPATH}
fi
export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 HF_DATASETS_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-${SLURM_CPUS_PER_TASK:-1}}

if [ -z "${SLURM_JOB_ID:-}" ]; then
  exec "$PYTHON" -P -m rag_evaluator "$@"        # no Slurm: an ordinary process
fi
srun --unbuffered --kill-on-bad-exit=0 --wait=0 "$PYTHON" -P -m rag_evaluator "$@"
code=$?
if [ $code -eq 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt "$RESTARTS" ]; then
  job=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}   # else Slurm may requeue the whole array
  scontrol requeue "${job:-$SLURM_JOB_ID}" && echo "continues: requeued"   # 75: stopped by a signal, more to do
fi
exit $code
