import assert from 'node:assert/strict'
import { link, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { DataFilter } from '../../agent/tool.ts'
import type { Built, Folder } from './fixture.ts'
import { bare, buildIn, createFolder, filter, workbook } from './fixture.ts'

let folder: Folder
let base: string
let root: string
before(async () => {
  folder = await createFolder()
  ;({ base, root } = folder)
})
after(() => rm(base, { recursive: true, force: true }))

const build = (tables: Record<string, string> = { sales: 'sales.csv' }, options = {}) => buildIn(folder, tables, options)

describe('reading', () => {
  test('a SELECT returns columns, rows and the row count', async () => {
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

  test('values are returned as JSON without loss of digits', async () => {
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

  test('rows beyond the row limit or the output limit are left out', async () => {
    await using built = await build({ sales: 'sales.csv' }, { max_rows: 3, maxOutputCharacters: 500 })
    const limited = await built.run('SELECT * FROM range(1000000000000) a, range(1000) b')
    assert.deepEqual(
      { row_count: limited.row_count, rowCount: limited.rows.length, truncated: limited.truncated },
      { row_count: 3, rowCount: 3, truncated: true },
    )
    assert.equal((await built.run('FROM range(3)')).truncated, false)
    const wide = await built.run("SELECT repeat('x', 300) FROM range(3)")
    assert.deepEqual({ row_count: wide.row_count, truncated: wide.truncated }, { row_count: 1, truncated: true })
    const [[cell]] = (await built.run("SELECT repeat('x', 5000)")).rows as [[string]]
    assert.match(cell, /^x{2000}… \[cut: 5000 characters\]$/)
  })

  test('the description has one line per table, without values in a restricted scope', async () => {
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
    assert.equal(built.tool.describe({ filters: [], isWithheld: () => true }).trim(), sentence)
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

  test('a changed file is read again', async () => {
    const file = path.join(root, 'changing.csv')
    await writeFile(file, 'a\n1\n')
    await using built = await build({ changing: 'changing.csv' })
    assert.deepEqual((await built.run('FROM changing')).rows, [[1]])
    await writeFile(file, 'a\n2\n')
    await utimes(file, 1_800_000_000, 1_800_000_000)
    assert.deepEqual((await built.run('FROM changing')).rows, [[2]])
  })

  test('the description has the columns of a changed file after the next query', async () => {
    const file = path.join(root, 'growing.csv')
    await writeFile(file, 'a\n1\n')
    await using built = await build({ growing: 'growing.csv' })
    assert.match(built.tool.description, /growing: a BIGINT$/)
    await writeFile(file, 'a,b\n1,2\n')
    assert.deepEqual((await built.run('SELECT b FROM growing')).rows, [[2]])
    assert.match(built.tool.description, /growing: a BIGINT, b BIGINT$/)
    await writeFile(file, 'a,b,c\n1,2,3\n')
    await built.run('FROM growing', filter('a', '1'))
    assert.match(built.tool.description, /growing: a BIGINT, b BIGINT, c BIGINT$/)
  })

  test('a tool with a missing or broken file is not built', async () => {
    await assert.rejects(build({ gone: 'gone.csv' }), { message: 'The table gone cannot be read: gone.csv does not exist.' })
    await assert.rejects(build({ none: 'none/*.csv' }), { message: 'The table none has no file: nothing matches none/*.csv.' })
    await assert.rejects(build({ outside: '../outside.csv' }), /outside of the files root/)
    await writeFile(path.join(root, 'broken.parquet'), 'this is not parquet at all')
    await assert.rejects(build({ broken: 'broken.parquet' }), (error: Error) => {
      assert.match(error.message, /^The table broken \(broken\.parquet\) cannot be read: .+/)
      assert.ok(!error.message.includes(base))
      return true
    })
    await writeFile(path.join(root, 'broken.xlsx'), 'this is not a workbook')
    await assert.rejects(build({ broken: 'broken.xlsx' }), /^Error: The table broken \(broken\.xlsx\) cannot be read: /)
  })
})

describe('data filters', () => {
  const readRows = async (built: Built, scope: { filters: DataFilter[] }) =>
    (await built.run('SELECT secret FROM sales ORDER BY secret', scope)).rows.flat().join(' ')

  test('only rows that pass the filter exist, compared in the type of the column', async () => {
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
      assert.equal(await readRows(built, filter(key, value, type)), expected, `${key} ${type} ${value}`)
    }
  })

  test('decimals are not rounded for comparison', async () => {
    await using built = await build({ numbers: 'numbers.parquet' })
    const halves = async (value: string) => (await built.run('SELECT id FROM numbers', filter('half', value))).rows.flat()
    assert.deepEqual([await halves('1.5'), await halves('1.500'), await halves('1.499'), await halves('1.501')], [[3], [3], [], []])
  })

  test('filters are combined with AND and apply to every table; a table without the column is empty', async () => {
    await using built = await build({ sales: 'sales.csv', staff: 'staff.tsv', events: 'events.ndjson' })
    const filters = [...filter('region', 'East,West', 'in').filters, ...filter('region', 'West', 'not_equals').filters]
    const counts = 'SELECT (SELECT count(*) FROM sales), (SELECT count(*) FROM staff), (SELECT count(*) FROM events)'
    assert.deepEqual((await built.run(counts, { filters })).rows, [[1, 1, 0]])
    assert.deepEqual((await built.run(counts)).rows, [[6, 2, 2]])
  })

  test('simultaneous calls with different filters do not affect each other', async () => {
    await using built = await build()
    const values = ['East', 'North', 'South', 'West', "O'Brien", 'East']
    const results = await Promise.all(values.map((value) => readRows(built, filter('region', value))))
    assert.deepEqual(results, ['alpha', 'bravo', 'charlie', 'delta', 'foxtrot', 'alpha'])
  })

  test('a table with a withheld file is not available, and the error gives the reason', async () => {
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

  test('the target of a changed link and a second name are recognized before the next query', async () => {
    await symlink('sales.csv', path.join(root, 'current.csv'))
    await link(path.join(root, 'staff.tsv'), path.join(root, 'twin.tsv'))
    await using built = await build({ sales: 'current.csv', staff: 'staff.tsv' })
    assert.equal(built.tool.readsFile?.('months/feb.csv'), false)
    await rm(path.join(root, 'current.csv'))
    await symlink('months/feb.csv', path.join(root, 'current.csv'))
    assert.equal(built.tool.readsFile?.('months/feb.csv'), true)
    assert.equal(built.tool.readsFile?.('twin.tsv'), true)
  })

  test('the error for a file that breaks later does not quote the file', async () => {
    const file = path.join(root, 'later.ndjson')
    await writeFile(file, '{"a": 1, "secret": "bravo"}\n')
    await using built = await build({ later: 'later.ndjson' })
    await writeFile(file, '{"a": 1, "secret": "bravo", \n{')
    await assert.rejects(built.run('FROM later', filter('a', '2')), { message: 'The table later cannot be read.' })
  })
})
