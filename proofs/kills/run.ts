import { parseArgs } from 'node:util'
import { createRandom } from '../random.ts'
import { databases } from './databases.ts'
import { killBetweenRequestAndReply, type KillReport } from './kills.ts'

/**
 * Kills a service with budgets between the requests and the replies of the model, many times, on each database. The exit code is 1 when
 * the spent amounts differ from the amounts that the model has counted and the amounts reserved for interrupted calls.
 */
const { values: options } = parseArgs({
  options: {
    kills: { type: 'string', default: '100' },
    chats: { type: 'string', default: '4' },
    database: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const kills = Number(options.kills)
const chats = Number(options.chats)
const seed = Number(options.seed)
const all = Object.keys(databases) as (keyof typeof databases)[]
const chosen = all.filter((name) => options.database === undefined || name === options.database)
const isWhole = [kills, chats, seed].every(Number.isSafeInteger)
if (!isWhole || kills < 1 || kills > 10_000 || chats < 1 || chats > 200 || chosen.length === 0) {
  console.error(`Usage: npm run kills -- [--kills 1-10000] [--chats 1-200] [--database ${all.join('|')}] [--seed N]`)
  process.exit(2)
}

console.log(`${kills} kills with ${chats} new chats each, seed ${seed}.`)
const ends: (() => unknown)[] = []
let faults = 0
try {
  for (const database of chosen) {
    const started = performance.now()
    const scope = { after: (end: () => unknown) => void ends.unshift(end) }
    const onKill = (kill: number) => void (kill % 10 === 0 && console.log(`  ${database}: ${kill} kills`))
    print(database, await killBetweenRequestAndReply(scope, { database, kills, chats, random: createRandom(seed), onKill }), started)
  }
} finally {
  for (const end of ends) await end()
}
console.log(faults === 0 ? '\nEvery call is paid once, and nothing is left reserved.' : `\n${faults} FAULTS`)
process.exit(faults === 0 ? 0 : 1)

function print(database: string, report: KillReport, started: number): void {
  const usd = (nanoUsd: number) => `${nanoUsd / 1e9} USD`
  const runs = Object.entries(report.runs).map(([status, count]) => `${count} ${status}`)
  console.log(
    `  ${database}: ${report.kills} kills cut ${report.lost} model calls off, ${report.answered} were answered; runs: ${runs.join(', ')}`,
  )
  console.log(`    spent ${usd(report.spent)} = ${usd(report.counted)} counted + ${usd(report.estimated)} estimated`)
  console.log(`    ${Math.round((performance.now() - started) / 1000)} s`)
  faults += report.faults.length
  for (const fault of report.faults.slice(0, 20)) console.log(`    FAULT: ${fault}`)
}
