import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { Settings } from '../settings/settings.ts'
import { watchChanges } from '../store/configuration/changes.ts'
import { createJobs } from '../store/jobs/jobs.ts'
import { keepHolder } from '../store/leases/holder.ts'
import { openDatabase } from '../store/open.ts'
import { openBus } from '../store/postgres/bus.ts'
import { createRunStore } from '../store/runs/runs.ts'
import { createSessionStore } from '../store/sessions/sessions.ts'
import { openSealer } from './audit.ts'
import { openSecrets, renewSecrets } from './secrets.ts'

interface StorageOptions {
  settings: Settings
  version: string
  log: Logger
  now(): number
  newId(): string
}

/** Opens the database and what all rooms share of it: secrets, the message bus, the lease of this process, jobs, runs and sessions. */
export async function openStorage(stack: AsyncDisposableStack, { settings, version, log, now, newId }: StorageOptions) {
  const database = stack.adopt(await openDatabase(settings), (opened) => opened.close())
  const renewed = await renewSecrets(database, settings)
  const secrets = await openSecrets(database, settings, now)
  for (const line of [...renewed, ...secrets.notices]) log.info(line)
  const id = newId()
  const bus = stack.adopt(await openBus(database, { id, log }), (opened) => opened.close())
  /** The process, as other processes see the process. */
  const self = { startedAt: now(), host: hostname(), version }
  const holder = stack.adopt(await keepHolder(database, { id, bus, log, process: self }), (lease) => lease.release())
  const jobs = stack.adopt(createJobs(database, { now, log, bus }), (workers) => workers.drain(0))
  const sealer = openSealer(stack, database, { jobs, settings, now, log })
  database.ledger.follow({ newId, wake: sealer.wake })
  const runStore = createRunStore(database, { box: secrets.box, wake: () => jobs.wake('notification') })
  const changes = database.isShared ? stack.adopt(watchChanges(database), (watching) => watching.close()) : undefined
  return {
    database,
    secrets,
    process: { ...self, id },
    bus,
    holder,
    jobs,
    sealer,
    runStore,
    sessionStore: createSessionStore(database),
    changes,
  }
}
