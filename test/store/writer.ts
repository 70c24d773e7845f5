import { holdDataDir } from '../../src/store/sqlite/data-dir.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite.ts'

/** A process for the tests of the embedded database: `node store-writer.ts <what> <folder>`. */

const [what, folder = ''] = process.argv.slice(2)
const jobs: Record<string, () => Promise<void>> = { units: writeUnits, beside: writeBeside, open, hold }
await jobs[what ?? '']?.()

/** Writes without end, and prints an id as soon as its unit is answered. */
async function writeUnits(): Promise<void> {
  const database = await openSqlite(folder)
  const write = async (lane: number) => {
    for (let n = 0; ; n += 1) {
      const id = `${process.pid}-${lane}-${n}`
      await database.all.unit((connection) => connection.execute('insert into processes (id, alive_until) values (?, ?)', [id, n]))
      process.stdout.write(`${id}\n`)
    }
  }
  await Promise.all(Array.from({ length: 20 }, (_, lane) => write(lane)))
}

/** As the command line does: a unit now and then. */
async function writeBeside(): Promise<void> {
  const database = await openSqlite(folder)
  for (let n = 0; n < 100; n += 1) {
    await database.all.unit((connection) => connection.execute('insert into processes (id, alive_until) values (?, 0)', [`beside-${n}`]))
  }
  await database.close()
}

async function open(): Promise<void> {
  await (await openSqlite(folder)).close()
}

/** Holds the folder until it is killed. */
async function hold(): Promise<void> {
  const held = holdDataDir(folder)
  process.stdout.write('held\n')
  // What nobody refers to any more is closed by the garbage collector.
  setInterval(() => void held, 1000)
}
