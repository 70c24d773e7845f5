import { appendFile, readFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { describePins, pinLoad, pins, start } from '../processes.ts'
import { formatTurns, type Turn } from './figures.ts'
import { installAgentCore, installPeer, type Installed } from './install.ts'
import { products } from './products.ts'
import { createRandom } from '../../proofs/random.ts'
import { shuffle } from './statistics.ts'
import { measureTurn } from './turn.ts'

/** Compares the service with products that a user might choose instead. Installs them from the npm registry at the first run. */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string' },
    results: { type: 'string' },
  },
})
const [rounds, seconds, seed] = [Number(values.rounds), Number(values.seconds), Number(values.seed)]
const selected = values.only?.split(',') ?? products.map(({ name }) => name)
const isKnown = selected.every((selectedName) => products.some(({ name }) => name === selectedName))
if (!isKnown || !(rounds >= 1) || !(seconds >= 1 && seconds <= 30) || !Number.isInteger(seed)) {
  const names = products.map(({ name }) => name).join(',')
  console.error(`Usage: npm run bench:peers -- [--rounds 5] [--seconds 1-30] [--seed N] [--only "${names}"] [--results FILE]`)
  process.exit(2)
}

const installed: Record<string, Installed> = {
  'Portkey gateway': await installPeer('portkey'),
  Mastra: await installPeer('mastra'),
  VoltAgent: await installPeer('voltagent'),
  'Agent Core': await installAgentCore(),
}
pinLoad()
const model = await start('model', [fileURLToPath(new URL('../model-server.ts', import.meta.url))], { core: pins?.model })
console.log(`${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} cores of ${cpus()[0]?.model};`)
console.log(`${describePins()}. ${rounds} rounds in random order with seed ${seed}, loads of ${seconds} s; medians (quartiles).\n`)

const random = createRandom(seed)
const turns: Turn[] = await readTurns(values.results)
const earlierRounds = Math.max(0, ...turns.map(({ round }) => round))
for (let round = earlierRounds + 1; round <= earlierRounds + rounds; round++) {
  for (const product of shuffle(products, random).filter(({ name }) => selected.includes(name))) {
    const measured = await measureTurn(product, { modelPort: Number(model.firstLine), seconds }).then(
      (figures) => ({ figures }),
      (error: Error) => ({ failure: error.message.split('\n')[0]! }),
    )
    const turn = { product: product.name, round, ...measured }
    turns.push(turn)
    console.log(`round ${round}, ${product.name}: ${JSON.stringify(measured)}`)
    if (values.results !== undefined) await appendFile(values.results, `${JSON.stringify(turn)}\n`)
  }
}
await model.stop()
console.log(`\n${formatTurns(selected, turns)}\n`)
for (const name of selected) if (installed[name]) console.log(describeInstalled(name, installed[name]))

/** Reads the turns of earlier runs, which the table then covers too. */
async function readTurns(file: string | undefined): Promise<Turn[]> {
  const text = file === undefined ? '' : await readFile(file, 'utf8').catch(() => '')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Turn)
}

function describeInstalled(name: string, { versions, packages, mb, nodeMb }: Installed): string {
  const node = nodeMb > 0 ? `, of which ${nodeMb.toFixed(0)} MB are a copy of Node` : ''
  const list = Object.entries(versions).map(([packageName, version]) => `${packageName} ${version}`)
  return `${name}: ${mb.toFixed(0)} MB on disk${node}, ${packages} packages (${list.join(', ')})`
}
