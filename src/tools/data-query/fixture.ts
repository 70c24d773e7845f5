import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { DuckDBInstance } from '@duckdb/node-api'
import type { JsonValue } from '../../agent/messages.ts'
import type { DataFilter } from '../../agent/tool.ts'
import { openFilesRoot } from '../../files/root.ts'
import { type DataScope, createDataQuery } from './data-query.ts'
import type { QueryRows } from './rows.ts'
import { dependenciesOf } from '../dependencies-fixture.ts'
import { contextOf } from '../../agent/react-fixture.ts'

export const sales = `date,region,units,amount,price,secret
2024-01-01,East,5,10.5,1.25,alpha
2024-01-02,North,7,20.25,2.50,bravo
2024-01-03,South,4,30,3.75,charlie
2024-01-04,West,9007199254740993,40,4.00,delta
2024-01-05,,1,50,5.00,echo
2024-01-06,O'Brien,2,60,6.00,foxtrot
`

export interface Folder {
  base: string
  root: string
}

/** Creates a files root with a file of each format, and a file outside the root. Remove `base` afterwards. */
export async function createFolder(): Promise<Folder> {
  const base = await mkdtemp(path.join(tmpdir(), 'data-query-'))
  const root = path.join(base, 'files')
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
  return { base, root }
}

type Tables = Record<string, string>
type Options = { max_rows?: number; maxOutputCharacters?: number }
export type Built = Awaited<ReturnType<typeof buildIn>>

/** Builds a `data_query` tool over the files of the folder, with a short function to call the tool. */
export async function buildIn({ base, root }: Folder, tables: Tables, options: Options = {}) {
  const { maxOutputCharacters = 20_000, ...config } = options
  const spec = { name: 'sales', timeoutMs: 30_000, maxOutputCharacters, config: { tables, ...config } }
  const deps = dependenciesOf({ files: await openFilesRoot(root), cacheDir: path.join(base, 'cache') })
  const { tool, close } = await createDataQuery(spec, deps)
  const run = async (sql: string, scope: Partial<DataScope> & { signal?: AbortSignal } = {}): Promise<QueryRows> => {
    const output: JsonValue = await tool.execute({ sql }, contextOf({ ...bare, ...scope }))
    return output as unknown as QueryRows
  }
  return { tool, run, [Symbol.asyncDispose]: async () => close?.() }
}

export function filter(key: string, value: string, type: DataFilter['type'] = 'equals'): { filters: DataFilter[] } {
  return { filters: [{ tool: 'sales', key, type, value }] }
}

export const bare = { filters: [] as DataFilter[], isWithheld: () => false }

/** A workbook with one sheet, whose third column has dates, as an uncompressed zip archive. */
export function workbook(rows: (string | number | boolean | null)[][]): Buffer {
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
