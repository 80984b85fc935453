import eventide as et, pyarrow as pa, pytest
@pytest.mark.filterwarnings("ignore")
def test_x(spark):
    t=pa.table({"ts":[0,1],"kind":["A","B"],"x":[1,2],"s":["a","b"]})
    ev=et.events(spark.createDataFrame(t),time="ts",type="kind")
    et.query("SELECT upper(a.s) AS u, b WHERE A AS a ; B AS b FILTER a.x * 1.5 < b.x AND length(a.s) = 1").check(ev)
    for q in ("SELECT nosuch(a.x) WHERE A AS a","SELECT * WHERE A AS a FILTER nosuch(a.x) > 3","SELECT SUM(a.s) WHERE A AS a", "SELECT * WHERE A AS a ; B AS b FILTER nosuch(a.x) < b.x"):
        with pytest.raises(et.BindError) as c: et.query(q).check(ev)
        print(str(c.value)[:400])
    print(et.query("SELECT * WHERE A ; B").explain(events=ev)[-600:])
