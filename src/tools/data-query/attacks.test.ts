import assert from 'node:assert/strict'
import { readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createDatabaseOpener } from './database.ts'
import type { Folder } from './fixture.ts'
import { buildIn, createFolder, filter, sales } from './fixture.ts'

let folder: Folder
let base: string
let root: string
before(async () => {
  folder = await createFolder()
  ;({ base, root } = folder)
})
after(() => rm(base, { recursive: true, force: true }))

const build = () => buildIn(folder, { sales: 'sales.csv' })

/** Messages of refused SQL. */
const refusal = new RegExp(
  [
    '^\\S+ cannot be used here\\.',
    '^There is no table \\S+\\. Tables: sales\\.$',
    '^Only one SELECT statement can be run at a time\\.',
    '^Only SHOW TABLES, DESCRIBE and SUMMARIZE',
    '^A CTE cannot be called duckdb_',
    '^Parser Error: ',
    '^Invalid Input Error: Values were not provided',
  ].join('|'),
)

const isRefusal = (error: Error) => refusal.test(error.message)

describe('a hostile query', () => {
  test('only a single SELECT over the tables is run', async () => {
    await using built = await build()
    const outside = path.join(base, 'outside.csv')
    const target = path.join(base, 'written')
    const attacks = [
      `SELECT * FROM read_csv('${outside}')`,
      `SELECT * FROM read_text('${outside}')`,
      `SELECT * FROM read_blob('${outside}')`,
      `SELECT * FROM read_json('${outside}')`,
      `SELECT * FROM parquet_metadata('${outside}')`,
      `SELECT * FROM sniff_csv('${outside}')`,
      `SELECT * FROM '${outside}'`,
      `SELECT * FROM "${outside}"`,
      `SELECT * FROM "${path.join(root, 'sales.csv')}"`,
      `FROM glob('/etc/*')`,
      `SELECT (SELECT content FROM read_text('${outside}'))`,
      `SELECT 1 WHERE EXISTS (FROM read_text('${outside}'))`,
      `SELECT * FROM sales ORDER BY (SELECT content FROM read_text('${outside}'))`,
      `SELECT * FROM sales LIMIT (SELECT count(*) FROM glob('/etc/*'))`,
      `WITH x AS (FROM read_text('${outside}')) SELECT * FROM x`,
      `WITH x AS MATERIALIZED (FROM duckdb_settings()) SELECT 1`,
      `SELECT 1 UNION ALL SELECT size FROM read_text('${outside}')`,
      `SELECT list_transform([1], x -> (SELECT count(*) FROM glob('/etc/*')))`,
      `DESCRIBE SELECT * FROM read_csv('${outside}')`,
      `SUMMARIZE SELECT * FROM read_csv('${outside}')`,
      `FROM sales PIVOT (count(*) FOR region IN (SELECT file FROM glob('/etc/*')))`,
      `FROM query('SELECT * FROM read_text(''${outside}'')')`,
      `FROM query_table('duckdb_settings')`,
      `FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))`,
      `COPY sales TO '${target}'`,
      `COPY (SELECT 1) TO '${target}'`,
      `COPY sales FROM '${outside}'`,
      `EXPORT DATABASE '${target}'`,
      `IMPORT DATABASE '${base}'`,
      `ATTACH '${target}' AS other`,
      'INSTALL httpfs',
      'LOAD httpfs',
      `FROM 'https://127.0.0.1:1/x.csv'`,
      `FROM read_csv('http://127.0.0.1:1/x.csv')`,
      'SET enable_external_access = true',
      'RESET lock_configuration',
      "SET VARIABLE x = 'y'",
      'PRAGMA enable_profiling',
      'PRAGMA database_list',
      'CALL pragma_version()',
      'SELECT 1; SELECT 2',
      `SELECT 1; COPY sales TO '${target}'`,
      'CREATE TABLE x AS SELECT 1',
      'CREATE MACRO m() AS TABLE FROM duckdb_settings()',
      'INSERT INTO sales SELECT * FROM sales',
      "UPDATE sales SET region = 'x'",
      'DELETE FROM sales',
      'DROP TABLE sales',
      'WITH x AS (INSERT INTO sales FROM sales RETURNING *) FROM x',
      'EXPLAIN ANALYZE SELECT 1',
      'PREPARE p AS SELECT 1',
      'EXECUTE p',
      'BEGIN',
      'CHECKPOINT',
      'VACUUM',
      'USE memory',
      '',
      ';',
      '-- nothing',
    ]
    for (const sql of attacks) await assert.rejects(built.run(sql), isRefusal, sql)
    await assert.rejects(readFile(target))
    assert.equal((await built.run('FROM sales')).row_count, 6)
  })

  test('the engine reveals nothing about the host, its settings or other queries', async () => {
    await using built = await build()
    const attacks = [
      'FROM duckdb_settings()',
      'FROM duckdb_settings',
      'FROM main.duckdb_settings',
      'FROM system.main.duckdb_views',
      'FROM duckdb_secrets()',
      'FROM duckdb_extensions()',
      'FROM duckdb_logs',
      'FROM duckdb_logs()',
      'FROM duckdb_databases()',
      'FROM duckdb_tables()',
      'FROM duckdb_columns()',
      'FROM duckdb_views()',
      'FROM sqlite_master',
      'FROM pg_catalog.pg_class',
      'FROM information_schema.tables',
      'FROM information_schema.columns',
      "FROM pragma_storage_info('sales')",
      "FROM pragma_table_info('sales')",
      'FROM pragma_database_size()',
      'FROM duckdb_temporary_files()',
      "FROM which_secret('a', 's3')",
      "FROM enable_logging('QueryLog')",
      `FROM enable_logging(storage = 'file', storage_path = '${base}/log')`,
      'FROM disable_logging()',
      'FROM truncate_duckdb_logs()',
      'FROM enable_profiling()',
      'FROM checkpoint()',
      "FROM sql_auto_complete('s')",
      'FROM seq_scan()',
      "SELECT getenv('PATH')",
      "SELECT 'PATH'.getenv()",
      "SELECT current_setting('temp_directory')",
      "SELECT CURRENT_SETTING('threads')",
      "SELECT write_log('x')",
      "SELECT getvariable('x')",
      'SELECT current_query()',
      'SELECT "current_setting"(\'threads\')',
      "SELECT main.current_setting('threads')",
      "SELECT system.main.current_setting('threads')",
      'SHOW DATABASES',
      'SHOW ALL TABLES',
      'WITH duckdb_settings AS (SELECT 1) SELECT 1',
      'SELECT * FROM (WITH duckdb_logs AS (SELECT 1) SELECT 1), duckdb_logs',
      'SELECT $1',
      'SELECT ?',
      "SELECT json_serialize_plan('SELECT 1')",
      'SELECT sleep_ms(1)',
      'SELECT pg_sleep(1)',
    ]
    for (const sql of attacks) {
      await assert.rejects(built.run(sql), isRefusal, sql)
    }
  })

  test('the database itself is locked down, independently of the check of the SQL', async () => {
    const file = { path: path.join(root, 'sales.csv'), version: '1' }
    const plan = { tables: [{ name: 'sales', format: 'csv' as const, files: [file] }], filters: [], cacheDir: base }
    const database = await createDatabaseOpener()(plan, new AbortController().signal)
    const connection = await database.connect()
    const target = path.join(base, 'written')
    const attacks = [
      `FROM read_csv('${file.path}')`,
      `FROM read_text('${path.join(base, 'outside.csv')}')`,
      `FROM '${file.path}'`,
      "FROM glob('/etc/*')",
      `COPY sales TO '${target}'`,
      `ATTACH '${target}' AS other`,
      'LOAD httpfs',
      'SET enable_external_access = true',
      'SET lock_configuration = false',
      "SET temp_directory = '/tmp'",
    ]
    for (const sql of attacks)
      await assert.rejects(connection.run(sql), /Permission Error|Invalid Input Error|configuration has been locked/, sql)
    await assert.rejects(readFile(target))
    connection.disconnectSync()
    database.close()
  })

  test('no query reaches a row that a filter removes', async () => {
    await using built = await build()
    const scope = filter('region', 'East')
    const attempts = [
      'FROM sales',
      'FROM memory.main.sales',
      'FROM "SALES"',
      'SUMMARIZE sales',
      'SELECT min(secret), max(secret), stats(secret) FROM sales GROUP BY secret',
      'SELECT stats(secret), stats(amount) FROM sales',
      'WITH RECURSIVE t AS (FROM sales UNION ALL FROM sales WHERE false) FROM t',
      "SELECT * FROM sales WHERE region = 'North' OR true",
      'SELECT approx_top_k(secret, 10), histogram(secret), list(sales) FROM sales',
      'FROM sales USING SAMPLE 100%',
      'SELECT rowid, * FROM sales',
    ]
    for (const sql of attempts) {
      const text = JSON.stringify(await built.run(sql, scope))
      assert.match(text, /alpha/, sql)
      assert.doesNotMatch(text, /bravo|charlie|delta|echo|foxtrot|North|9007199254740993|60/, sql)
    }
    await assert.rejects(built.run("SELECT error('x' || secret) FROM sales", scope), /xalpha/)
  })

  test('error messages are helpful and contain no paths of the host', async () => {
    await using built = await build()
    await assert.rejects(built.run('SELECT regoin FROM sales'), /Binder Error: .*regoin.*Candidate bindings: .*region/s)
    await assert.rejects(built.run('SELEC 1'), /Parser Error: .*SELEC/)
    await assert.rejects(built.run('SELECT * FROM sale'), /There is no table sale\. Tables: sales\./)
    await assert.rejects(built.run('SELECT * FROM sales PIVOT (count(*) FOR region)'), /Parser Error/)
  })

  test('an abort stops an endless query, and the tool stays usable', async () => {
    await using built = await build()
    const endless = [
      'WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t',
      'SELECT count(*) FROM range(100000000000) a, range(10000000000) b',
      "SELECT levenshtein(repeat('a', 200000), repeat('b', 200000))",
    ]
    for (const sql of endless) {
      const startedAt = Date.now()
      await assert.rejects(built.run(sql, { signal: AbortSignal.timeout(200) }), { name: 'TimeoutError' }, sql)
      assert.ok(Date.now() - startedAt < 3_000, `${sql} took ${Date.now() - startedAt} ms`)
    }
    assert.equal((await built.run('FROM sales')).row_count, 6)
  })

  test('a query that uses up the memory fails, and the tool stays usable', async () => {
    await using built = await build()
    const hungry = ['SELECT list(a.range + b.range) FROM range(100000000) a, range(1000) b', "SELECT repeat('x', 3000000) FROM range(2000)"]
    for (const sql of hungry) await assert.rejects(built.run(sql), /Memory|memory/, sql)
    // Needs a large part of the memory limit, so the memory of the failed queries must be free again.
    const large = 'SELECT count(DISTINCT range) FROM range(5000000)'
    assert.deepEqual((await built.run(large)).rows, [[5_000_000]])
    assert.equal((await built.run('FROM sales')).row_count, 6)
  })

  test('long queries do not block file access of the service', async () => {
    await using built = await build()
    const stop = new AbortController()
    const sql = 'SELECT count(*) FROM range(100000000000) a, range(10000000000) b'
    const long = Array.from({ length: 6 }, () => built.run(sql, { signal: stop.signal }).catch(() => 'stopped'))
    const content = await readFile(path.join(root, 'sales.csv'), 'utf8')
    const meanwhile = await built.run('SELECT count(*) FROM sales')
    stop.abort()
    assert.equal(content, sales)
    assert.deepEqual(meanwhile.rows, [[6]])
    assert.deepEqual(new Set(await Promise.all(long)), new Set(['stopped']))
  })
})
