import { parseArgs } from 'node:util'
import { databases } from '../kills/databases.ts'
import { createRandom } from '../random.ts'
import { steerWhileKilling } from './steer.ts'

/** Sends messages to runs while the service is killed again and again, on each database. The exit code is 1 when one is lost, doubled or out of order. */
const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '200' },
    kills: { type: 'string', default: '4' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const [runs, kills, seed] = [Number(options.runs), Number(options.kills), Number(options.seed)]
if (![runs, kills, seed].every(Number.isSafeInteger) || runs < 1 || runs > 20_000 || kills < 0 || kills > 1000) {
  console.error('Usage: npm run steering -- [--runs 1-20000] [--kills 0-1000] [--seed N]')
  process.exit(2)
}

console.log(`Messages to ${runs} runs, ${kills} kills, seed ${seed}.`)
const ends: (() => unknown)[] = []
let count = 0
try {
  for (const database of Object.keys(databases) as (keyof typeof databases)[]) {
    const started = performance.now()
    const scope = { after: (end: () => unknown) => void ends.unshift(end) }
    const { faults, accepted, delivered, continued, refused } = await steerWhileKilling(scope, {
      database,
      runs,
      kills,
      random: createRandom(seed),
    })
    const seconds = Math.round((performance.now() - started) / 1000)
    console.log(
      `  ${database}: ${accepted} accepted = ${delivered} delivered + ${continued} began a run; ${refused} came too late; ${seconds} s`,
    )
    count += faults.length
    for (const fault of faults.slice(0, 20)) console.log(`    FAULT: ${fault}`)
  }
} finally {
  for (const end of ends) await end()
}
console.log(count === 0 ? '\nEvery accepted message is in its session once, and in order.' : `\n${count} FAULTS`)
process.exit(count === 0 ? 0 : 1)
