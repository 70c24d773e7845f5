import { parseArgs } from 'node:util'

const usage =
  'Usage: npm run chaos -- [--minutes 1-60 | --seconds 5-3600] [--replicas 2-8] [--clients 1-200] [--seed N] [--rolling] [--from CHECKOUT] [--keep]'

export interface Options {
  seconds: number
  replicas: number
  clients: number
  seed: number
  /** Processes are restarted one at a time, and no request may fail. */
  isRolling: boolean
  /** Checkout of an earlier version, with its packages, from which the replicas are upgraded under load. */
  from: string | undefined
  /** True to keep logs and history of a run without anomalies. */
  keepsFiles: boolean
}

/** Reads the command line; ends the process with exit code 2 when it is wrong. */
export function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string' },
      seconds: { type: 'string', default: '120' },
      replicas: { type: 'string', default: '3' },
      clients: { type: 'string', default: '32' },
      seed: { type: 'string' },
      rolling: { type: 'boolean', default: false },
      from: { type: 'string' },
      keep: { type: 'boolean', default: false },
    },
  })
  const seconds = values.minutes === undefined ? Number(values.seconds) : 60 * Number(values.minutes)
  const replicas = Number(values.replicas)
  const clients = Number(values.clients)
  const seed = Number(values.seed ?? Date.now() % 1_000_000)
  if (
    !(seconds >= 5 && seconds <= 3600 && replicas >= 2 && replicas <= 8 && clients >= 1 && clients <= 200 && Number.isSafeInteger(seed))
  ) {
    console.error(usage)
    process.exit(2)
  }
  return { seconds, replicas, clients, seed, isRolling: values.rolling, from: values.from, keepsFiles: values.keep }
}
