"""The command line as a file that spark-submit takes: `spark-submit … submit.py report --runs … --out …`."""

from kafka_trial.cli import main

if __name__ == "__main__":
    main()
