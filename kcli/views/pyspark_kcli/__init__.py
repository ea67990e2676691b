"""What Spark 4 looks for in packages named pyspark_*.

The format `kcli`, known to every session without a word.
"""

from kcli.views.spark import data_source

DefaultSource = data_source()
