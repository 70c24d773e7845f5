import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api'
import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { questionFiles, readQuestions, setFolders, type Item, type QuestionSet, type Turn } from './question.ts'

const samples = path.join(import.meta.dirname, '../../samples/files/data')
const shop = path.join(import.meta.dirname, 'shop/files/data')

const tables = {
  samples: { sales: `${samples}/sales.csv`, products: `${samples}/products.csv`, customers: `${samples}/customers.json` },
  shop: {
    orders: `${shop}/orders.csv`,
    order_lines: `${shop}/order_lines.csv`,
    products: `${shop}/products.csv`,
    customers: `${shop}/customers.json`,
  },
}

for (const set of Object.keys(setFolders) as QuestionSet[])
  for (const file of questionFiles)
    test(`Questions: the expected answers of ${file} (${set} set) are what its queries yield`, async (t) => {
      const connection = await open(t, tables[file === 'samples' ? 'samples' : 'shop'])
      const turns = readQuestions(file, set).flatMap((conversation) => conversation.turns)
      for (const turn of turns) for (const [sql, items] of queriesOf(turn)) await checkItems(connection, turn.ask, sql, items)
    })

async function open(t: { after(run: () => void): void }, files: Record<string, string>): Promise<DuckDBConnection> {
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  t.after(() => connection.closeSync())
  for (const [name, file] of Object.entries(files)) await connection.run(`CREATE VIEW ${name} AS SELECT * FROM '${file}'`)
  return connection
}

function queriesOf(turn: Turn): [string, Item[]][] {
  const pairs = [
    [turn.sql, turn.all],
    [turn.or_sql, turn.or],
    [turn.file_sql, turn.file?.all],
    [turn.shown_sql, turn.shown],
  ] as const
  return pairs.flatMap(([sql, items]) => (sql === undefined ? [] : [[sql, items ?? []]]))
}

async function checkItems(connection: DuckDBConnection, ask: string, sql: string, items: Item[]): Promise<void> {
  const cells = (await connection.runAndReadAll(sql)).getRowsJson().flat().map(String)
  assert.ok(cells.length > 0, `${ask}: the query yields nothing`)
  for (const cell of cells)
    assert.ok(
      items.some((item) => isCell(item, cell)),
      `${ask}: ${cell} is not expected`,
    )
}

/** Numbers are expected with two decimals. */
function isCell(item: Item, cell: string): boolean {
  return typeof item === 'number' ? Math.abs(item - Number(cell)) <= 0.0051 : item === cell
}
