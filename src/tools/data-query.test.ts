import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { DuckDBInstance } from '@duckdb/node-api'
import { pino } from 'pino'
import type { JsonValue } from '../agent/messages.ts'
import type { DataFilter } from '../agent/tool.ts'
import { openFilesRoot } from '../files/root.ts'
import { createDatabaseOpener } from './data-query-database.ts'
import type { DataScope } from './data-query.ts'
import { createDataQuery } from './data-query.ts'
import type { QueryRows } from './data-query-rows.ts'

const sales = `date,region,units,amount,price,secret
2024-01-01,East,5,10.5,1.25,alpha
2024-01-02,North,7,20.25,2.50,bravo
2024-01-03,South,4,30,3.75,charlie
2024-01-04,West,9007199254740993,40,4.00,delta
2024-01-05,,1,50,5.00,echo
2024-01-06,O'Brien,2,60,6.00,foxtrot
`

let base: string
let root: string
before(async () => {
  base = await mkdtemp(path.join(tmpdir(), 'data-query-'))
  root = path.join(base, 'files')
  await mkdir(path.join(root, 'months'), { recursive: true })
  await writeFile(path.join(root, 'sales.csv'), sales)
  await writeFile(path.join(root, 'staff.tsv'), 'name\tregion\nAda\tEast\nBob\tWest\n')
  await writeFile(path.join(root, 'orders.json'), '[{"id": 1, "tags": ["a", "b"], "at": {"x": 1}}, {"id": 2, "tags": [], "at": null}]')
  await writeFile(path.join(root, 'events.ndjson'), '{"id": 1, "ok": true}\n{"id": 2, "ok": false}\n')
  await writeFile(path.join(root, 'months', 'jan[1].csv'), 'month,total\njan,1\n')
  await writeFile(path.join(root, 'months', 'feb.csv'), 'month,total\nfeb,2\n')
  await writeFile(path.join(base, 'outside.csv'), 'a\nhost secret\n')
  const instance = await DuckDBInstance.create()
  const connection = await instance.connect()
  const at = (name: string) => path.join(root, name).replaceAll("'", "''")
  await connection.run(`COPY (SELECT range AS id, (range / 2)::DECIMAL(10, 2) AS half FROM range(5)) TO '${at('numbers.parquet')}'`)
  connection.disconnectSync()
  instance.closeSync()
})
after(() => rm(base, { recursive: true, force: true }))

type Tables = Record<string, string>

async function build(tables: Tables = { sales: 'sales.csv' }, options: { max_rows?: number; maxOutputCharacters?: number } = {}) {
  const { maxOutputCharacters = 20_000, ...config } = options
  const spec = { name: 'sales', timeoutMs: 30_000, maxOutputCharacters, config: { tables, ...config } }
  const deps = { files: await openFilesRoot(root), cacheDir: path.join(base, 'cache'), log: pino({ level: 'silent' }) }
  const { tool, close } = await createDataQuery(spec, deps)
  const run = async (sql: string, scope: Partial<DataScope> & { signal?: AbortSignal } = {}): Promise<QueryRows> => {
    const output: JsonValue = await tool.execute(
      { sql },
      { callId: '1', signal: new AbortController().signal, headers: {}, ...bare, log: () => {}, ...scope },
    )
    return output as unknown as QueryRows
  }
  return { tool, run, [Symbol.asyncDispose]: async () => close?.() }
}

function filter(key: string, value: string, type: DataFilter['type'] = 'equals'): { filters: DataFilter[] } {
  return { filters: [{ tool: 'sales', key, type, value }] }
}

/** How SQL is refused, each by what was found wrong with it. */
const refusal = new RegExp(
  [
    "^\\S+ can't be used here\\.",
    '^There is no table \\S+\\. Tables: sales\\.$',
    '^Only one SELECT statement at a time can be run\\.',
    '^Only SHOW TABLES, DESCRIBE and SUMMARIZE',
    "^A CTE can't be called duckdb_",
    '^Parser Error: ',
    '^Invalid Input Error: Values were not provided',
  ].join('|'),
)

const isRefusal = (error: Error) => refusal.test(error.message)

const bare = { filters: [] as DataFilter[], isWithheld: () => false }

describe('reading', () => {
  test('a SELECT gives columns, rows and their number', async () => {
    await using built = await build()
    assert.deepEqual(await built.run('SELECT region, units FROM sales WHERE units < 6 AND region < $$N$$ -- a comment'), {
      columns: ['region', 'units'],
      rows: [['East', 5]],
      row_count: 1,
      truncated: false,
    })
  })

  test('every format is read', async () => {
    const tables = {
      staff: 'staff.tsv',
      orders: 'orders.json',
      events: 'events.ndjson',
      numbers: 'numbers.parquet',
      months: 'months/*.csv',
    }
    await using built = await build(tables)
    assert.deepEqual((await built.run('FROM staff')).rows, [
      ['Ada', 'East'],
      ['Bob', 'West'],
    ])
    assert.deepEqual((await built.run('FROM orders')).rows, [
      [1, ['a', 'b'], { x: 1 }],
      [2, [], null],
    ])
    assert.deepEqual((await built.run('SELECT ok FROM events')).rows, [[true], [false]])
    assert.deepEqual((await built.run('SELECT half FROM numbers WHERE id = 3')).rows, [[1.5]])
    assert.deepEqual((await built.run('FROM months ORDER BY total')).rows, [
      ['jan', 1],
      ['feb', 2],
    ])
  })

  test('values are told as JSON without losing digits', async () => {
    await using built = await build()
    const { rows } = await built.run(`SELECT max(units), max(date), 12345678901234567.89::DECIMAL(20, 2), TIMESTAMP '2024-01-01 10:00:00',
      TIMESTAMPTZ '2024-01-01 10:00:00+02', 'nan'::DOUBLE, MAP {'k': 1}, NULL, 2.50::DECIMAL(5, 2) FROM sales`)
    assert.deepEqual(rows, [
      [
        '9007199254740993',
        '2024-01-06',
        '12345678901234567.89',
        '2024-01-01T10:00:00',
        '2024-01-01T08:00:00+00',
        'NaN',
        { k: 1 },
        null,
        2.5,
      ],
    ])
  })

  test('rows beyond the limit are left out, and so is what does not fit the output', async () => {
    await using built = await build({ sales: 'sales.csv' }, { max_rows: 3, maxOutputCharacters: 500 })
    const many = await built.run('SELECT * FROM range(1000000000000) a, range(1000) b')
    assert.deepEqual([many.row_count, many.rows.length, many.truncated], [3, 3, true])
    assert.equal((await built.run('FROM range(3)')).truncated, false)
    const wide = await built.run("SELECT repeat('x', 300) FROM range(3)")
    assert.deepEqual([wide.row_count, wide.truncated], [1, true])
    const [[cell]] = (await built.run("SELECT repeat('x', 5000)")).rows as [[string]]
    assert.match(cell, /^x{2000}… \[cut: 5000 characters\]$/)
  })

  test('the description has one line per table, and no values where the scope is restricted', async () => {
    await using built = await build({ sales: 'sales.csv', staff: 'staff.tsv' })
    const [sentence, ...lines] = built.tool.description.split('\n')
    assert.match(sentence ?? '', /\.$/)
    const salesLine =
      "date DATE, region VARCHAR (East, North, O'Brien, South, West), units BIGINT, amount DOUBLE, price DOUBLE, secret VARCHAR"
    assert.deepEqual(lines, [
      `- sales: ${salesLine} (alpha, bravo, charlie, delta, echo, foxtrot)`,
      '- staff: name VARCHAR (Ada, Bob), region VARCHAR (East, West)',
    ])
    const filtered = built.tool.describe({ ...bare, ...filter('region', 'East') })
    assert.match(filtered, /^- staff: name VARCHAR, region VARCHAR$/m)
    assert.doesNotMatch(filtered, /North|bravo|Ada/)
    assert.doesNotMatch(built.tool.describe({ ...bare, isWithheld: (file) => file === 'sales.csv' }), /sales:|East/)
  })

  test('the first sheet of a workbook is a table, with dates and numbers', async () => {
    await writeFile(
      path.join(root, 'book.xlsx'),
      workbook([
        ['Name', 'Name', 'Day', 'Total', null],
        ['Ada', 'Lovelace', 45292, 1.5, true],
        ['Bob', null, 45293, 2, false],
      ]),
    )
    await using built = await build({ book: 'book.xlsx' })
    assert.match(
      built.tool.description,
      /^- book: Name VARCHAR \(Ada, Bob\), Name_1 VARCHAR \(Lovelace\), Day DATE, Total DOUBLE, column_5 BOOLEAN$/m,
    )
    const rows = [
      ['Ada', 'Lovelace', '2024-01-01', 1.5, true],
      ['Bob', null, '2024-01-02', 2, false],
    ]
    assert.deepEqual((await built.run('FROM book')).rows, rows)
    assert.deepEqual((await built.run('FROM book', filter('day', '2024-01-02'))).rows, rows.slice(1))
  })

  test('a changed file is read anew', async () => {
    const file = path.join(root, 'changing.csv')
    await writeFile(file, 'a\n1\n')
    await using built = await build({ changing: 'changing.csv' })
    assert.deepEqual((await built.run('FROM changing')).rows, [[1]])
    await writeFile(file, 'a\n2\n')
    await utimes(file, 1_800_000_000, 1_800_000_000)
    assert.deepEqual((await built.run('FROM changing')).rows, [[2]])
  })

  test('a tool with a missing or broken file is not built', async () => {
    await assert.rejects(build({ gone: 'gone.csv' }), { message: "The table gone can't be read: gone.csv does not exist." })
    await assert.rejects(build({ none: 'none/*.csv' }), { message: 'The table none has no file: nothing matches none/*.csv.' })
    await assert.rejects(build({ outside: '../outside.csv' }), /outside of the files root/)
    await writeFile(path.join(root, 'broken.parquet'), 'this is not parquet at all')
    await assert.rejects(build({ broken: 'broken.parquet' }), (error: Error) => {
      assert.match(error.message, /^The table broken \(broken\.parquet\) can't be read: .+/)
      assert.ok(!error.message.includes(base))
      return true
    })
    await writeFile(path.join(root, 'broken.xlsx'), 'this is not a workbook')
    await assert.rejects(build({ broken: 'broken.xlsx' }), /^Error: The table broken \(broken\.xlsx\) can't be read: /)
  })
})

describe('data filters', () => {
  const seen = async (built: Awaited<ReturnType<typeof build>>, scope: { filters: DataFilter[] }) =>
    (await built.run('SELECT secret FROM sales ORDER BY secret', scope)).rows.flat().join(' ')

  test('only rows that pass are there, compared in the type of the column', async () => {
    await using built = await build()
    const cases: [string, string, DataFilter['type'], string][] = [
      ['region', 'East', 'equals', 'alpha'],
      ['REGION', 'East', 'equals', 'alpha'],
      ['region', 'east', 'equals', ''],
      ['region', 'East', 'not_equals', 'bravo charlie delta foxtrot'],
      ['region', 'East, West,', 'in', 'alpha delta'],
      ['region', 'th', 'contains', 'bravo charlie'],
      ['region', '%', 'contains', ''],
      ['units', '5', 'equals', 'alpha'],
      ['units', '5.0', 'equals', 'alpha'],
      ['units', '4.7', 'equals', ''],
      ['units', 'abc', 'not_equals', ''],
      ['units', '9007199254740993', 'equals', 'delta'],
      ['units', '9007199254740992', 'equals', ''],
      ['units', '5,x,7', 'in', 'alpha bravo'],
      ['amount', '10.50', 'equals', 'alpha'],
      ['date', '2024-01-03', 'equals', 'charlie'],
      ['date', '2024-01-03 05:00', 'equals', ''],
      ['date', '2024-01', 'contains', 'alpha bravo charlie delta echo foxtrot'],
      ['no_such_column', 'East', 'equals', ''],
      ['no_such_column', 'East', 'not_equals', ''],
      ['', '', 'contains', ''],
      ['region', "O'Brien", 'equals', 'foxtrot'],
      ['region', "x' OR '1'='1", 'equals', ''],
      ['region', "x') OR true --", 'in', ''],
      ['region" = region OR "region', 'East', 'equals', ''],
    ]
    for (const [key, value, type, expected] of cases) {
      assert.equal(await seen(built, filter(key, value, type)), expected, `${key} ${type} ${value}`)
    }
  })

  test('decimals are not rounded to match', async () => {
    await using built = await build({ numbers: 'numbers.parquet' })
    const halves = async (value: string) => (await built.run('SELECT id FROM numbers', filter('half', value))).rows.flat()
    assert.deepEqual([await halves('1.5'), await halves('1.500'), await halves('1.499'), await halves('1.501')], [[3], [3], [], []])
  })

  test('filters are ANDed and hold for every table; one that lacks the column is empty', async () => {
    await using built = await build({ sales: 'sales.csv', staff: 'staff.tsv', events: 'events.ndjson' })
    const filters = [...filter('region', 'East,West', 'in').filters, ...filter('region', 'West', 'not_equals').filters]
    const counts = 'SELECT (SELECT count(*) FROM sales), (SELECT count(*) FROM staff), (SELECT count(*) FROM events)'
    assert.deepEqual((await built.run(counts, { filters })).rows, [[1, 1, 0]])
    assert.deepEqual((await built.run(counts)).rows, [[6, 2, 2]])
  })

  test('calls with different filters beside each other do not see each other', async () => {
    await using built = await build()
    const values = ['East', 'North', 'South', 'West', "O'Brien", 'East']
    const results = await Promise.all(values.map((value) => seen(built, filter('region', value))))
    assert.deepEqual(results, ['alpha', 'bravo', 'charlie', 'delta', 'foxtrot', 'alpha'])
  })

  test('a table whose file is withheld is not available, and the answer says why', async () => {
    await using built = await build({ sales: 'sales.csv', staff: 'staff.tsv' })
    const isWithheld = (file: string) => file === 'sales.csv'
    assert.equal((await built.run('FROM staff', { isWithheld })).row_count, 2)
    await assert.rejects(built.run('FROM sales', { isWithheld }), /sales is not available .* data filter restricts/)
    assert.deepEqual((await built.run('SHOW TABLES', { isWithheld })).rows, [['staff']])
  })

  test('a file is recognised under every name', async () => {
    await symlink('sales.csv', path.join(root, 'alias.csv'))
    await using built = await build({ sales: 'alias.csv', months: 'months/*.csv' })
    const reads = ['alias.csv', './alias.csv', 'sales.csv', 'months/feb.csv', 'staff.tsv', 'gone.csv', '../outside.csv']
    assert.deepEqual(
      reads.map((file) => built.tool.readsFile?.(file)),
      [true, true, true, true, false, false, false],
    )
    await assert.rejects(built.run('FROM sales', { isWithheld: (file) => file === 'sales.csv' }), /not available/)
  })

  test('a file that breaks later is not quoted to a model', async () => {
    const file = path.join(root, 'later.ndjson')
    await writeFile(file, '{"a": 1, "secret": "bravo"}\n')
    await using built = await build({ later: 'later.ndjson' })
    await writeFile(file, '{"a": 1, "secret": "bravo", \n{')
    await assert.rejects(built.run('FROM later', filter('a', '2')), { message: "The table later can't be read." })
  })
})

describe('attacks', () => {
  test('nothing but one SELECT over the tables is run', async () => {
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

  test('the engine tells nothing of the host, of its settings or of other queries', async () => {
    await using built = await build()
    const attacks = [
      ...['FROM duckdb_settings()', 'FROM duckdb_settings', 'FROM main.duckdb_settings', 'FROM system.main.duckdb_views'],
      ...['FROM duckdb_secrets()', 'FROM duckdb_extensions()', 'FROM duckdb_logs', 'FROM duckdb_logs()', 'FROM duckdb_databases()'],
      ...['FROM duckdb_tables()', 'FROM duckdb_columns()', 'FROM duckdb_views()', 'FROM sqlite_master', 'FROM pg_catalog.pg_class'],
      ...['FROM information_schema.tables', 'FROM information_schema.columns', "FROM pragma_storage_info('sales')"],
      ...[
        "FROM pragma_table_info('sales')",
        'FROM pragma_database_size()',
        'FROM duckdb_temporary_files()',
        "FROM which_secret('a', 's3')",
      ],
      ...[
        "FROM enable_logging('QueryLog')",
        `FROM enable_logging(storage = 'file', storage_path = '${base}/log')`,
        'FROM disable_logging()',
      ],
      ...['FROM truncate_duckdb_logs()', 'FROM enable_profiling()', 'FROM checkpoint()', "FROM sql_auto_complete('s')", 'FROM seq_scan()'],
      ...[
        "SELECT getenv('PATH')",
        "SELECT 'PATH'.getenv()",
        "SELECT current_setting('temp_directory')",
        "SELECT CURRENT_SETTING('threads')",
      ],
      ...["SELECT write_log('x')", "SELECT getvariable('x')", 'SELECT current_query()', 'SELECT "current_setting"(\'threads\')'],
      ...["SELECT main.current_setting('threads')", "SELECT system.main.current_setting('threads')", 'SHOW DATABASES', 'SHOW ALL TABLES'],
      ...['WITH duckdb_settings AS (SELECT 1) SELECT 1', 'SELECT * FROM (WITH duckdb_logs AS (SELECT 1) SELECT 1), duckdb_logs'],
      ...['SELECT $1', 'SELECT ?', "SELECT json_serialize_plan('SELECT 1')", 'SELECT sleep_ms(1)', 'SELECT pg_sleep(1)'],
    ]
    for (const sql of attacks) {
      await assert.rejects(built.run(sql), isRefusal, sql)
    }
  })

  test('behind the check of the SQL, the database itself is closed', async () => {
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

  test('no way around a filter leads to a row that it keeps away', async () => {
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

  test('errors are told in words that help, without paths of the host', async () => {
    await using built = await build()
    await assert.rejects(built.run('SELECT regoin FROM sales'), /Binder Error: .*regoin.*Candidate bindings: .*region/s)
    await assert.rejects(built.run('SELEC 1'), /Parser Error: .*SELEC/)
    await assert.rejects(built.run('SELECT * FROM sale'), /There is no table sale\. Tables: sales\./)
    await assert.rejects(built.run('SELECT * FROM sales PIVOT (count(*) FOR region)'), /Parser Error/)
  })

  test('an abort stops a query that never ends, and the tool goes on', async () => {
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

  test('a query that wants all memory fails, and the tool goes on', async () => {
    await using built = await build()
    const hungry = ['SELECT list(a.range + b.range) FROM range(100000000) a, range(1000) b', "SELECT repeat('x', 3000000) FROM range(2000)"]
    for (const sql of hungry) await assert.rejects(built.run(sql), /Memory|memory/, sql)
    // Needs a good part of what a query may use: what the others took must be there again.
    const large = 'SELECT count(DISTINCT range) FROM range(5000000)'
    assert.deepEqual((await built.run(large)).rows, [[5_000_000]])
    assert.equal((await built.run('FROM sales')).row_count, 6)
  })

  test('while queries run for long, the service reads its files', async () => {
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

/** A workbook of one sheet, its third column dates, in a zip archive without compression. */
function workbook(rows: (string | number | boolean | null)[][]): Buffer {
  const cell = (value: string | number | boolean | null, column: number, row: number) => {
    const at = `r="${String.fromCharCode(65 + column)}${row + 1}"`
    if (value === null) return ''
    if (typeof value === 'string') return `<c ${at} t="inlineStr"><is><t>${value}</t></is></c>`
    if (typeof value === 'boolean') return `<c ${at} t="b"><v>${Number(value)}</v></c>`
    return `<c ${at}${column === 2 ? ' s="1"' : ''}><v>${value}</v></c>`
  }
  const sheet = rows.map((cells, row) => `<row r="${row + 1}">${cells.map((value, column) => cell(value, column, row)).join('')}</row>`)
  const main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
  const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
  const relations = (entries: string) =>
    `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${entries}</Relationships>`
  return zip({
    '[Content_Types].xml': '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    '_rels/.rels': relations(`<Relationship Id="rId1" Type="${office}/officeDocument" Target="xl/workbook.xml"/>`),
    'xl/workbook.xml': `<workbook ${main} xmlns:r="${office}"><sheets><sheet name="One" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relations(
      `<Relationship Id="rId1" Type="${office}/worksheet" Target="worksheets/sheet1.xml"/>` +
        `<Relationship Id="rId2" Type="${office}/styles" Target="styles.xml"/>`,
    ),
    'xl/styles.xml': `<styleSheet ${main}><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>`,
    'xl/worksheets/sheet1.xml': `<worksheet ${main}><sheetData>${sheet.join('')}</sheetData></worksheet>`,
  })
}

function zip(files: Record<string, string>): Buffer {
  const locals: Buffer[] = []
  const entries: Buffer[] = []
  let offset = 0
  for (const [name, text] of Object.entries(files)) {
    const head = Buffer.alloc(26)
    head.writeUInt16LE(20, 0)
    head.writeUInt32LE(crc32(text), 10)
    head.writeUInt32LE(Buffer.byteLength(text), 14)
    head.writeUInt32LE(Buffer.byteLength(text), 18)
    head.writeUInt16LE(Buffer.byteLength(name), 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), head, Buffer.from(name), Buffer.from(text)])
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(offset, 10)
    entries.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), head, tail, Buffer.from(name)]))
    locals.push(local)
    offset += local.length
  }
  const end = Buffer.alloc(18)
  end.writeUInt16LE(entries.length, 4)
  end.writeUInt16LE(entries.length, 6)
  end.writeUInt32LE(Buffer.concat(entries).length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...locals, ...entries, Buffer.from('PK\x05\x06'), end])
}
