import type { Command } from 'commander'
import { messageWithCause } from '../errors.ts'
import { openDatabase } from '../store/open.ts'
import { hold } from './running-service.ts'
import { readSettings } from './prepare.ts'
import { CommandFailure, type CommandContext, formatTable, print, type Terminal } from './terminal.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadSigningKeys } from '../service/audit.ts'
import type { Settings } from '../settings/settings.ts'
import { findExpired, prune, type ExpiredItems } from '../runs/retention.ts'
import { createRetentionStore } from '../store/sessions/retention.ts'
import { loadUsedConfiguration, toFailure, withDatabase } from './used-configuration.ts'

/** Adds commands that maintain the database. */
export function addDb(program: Command, { terminal }: CommandContext): void {
  const db = program.command('db').description('Maintain the database.')

  db.command('migrate')
    .description(
      'Update the schema to this version, like a start of the service. Postgres: services may keep running. SQLite: no service may be running.',
    )
    .action(async () => {
      const settings = readSettings(terminal)
      const { release } = hold(settings)
      try {
        const database = await openDatabase(settings).catch((error: unknown) => {
          throw new CommandFailure(1, [messageWithCause(error)])
        })
        await database.close()
        const { migrated } = database
        print(terminal, migrated.length > 0 ? `Migrated: ${migrated.join(', ')}.` : 'The database is up to date.')
      } finally {
        release()
      }
    })

  db.command('prune')
    .description('Remove data older than "retention" in the configuration. The service itself does so every hour.')
    .option('--dry-run', 'only count the data')
    .action(async ({ dryRun = false }: { dryRun?: boolean }) => {
      print(terminal, ...(await pruneNow(readSettings(terminal), terminal, dryRun)))
    })
}

/** Pauses as long as it works, because a service may use the database at the same time. */
const restFactor = 1

/** Removes data older than the retention of the configuration, or only counts the data. Returns lines to print. */
async function pruneNow(settings: Settings, { stopping, stderr }: Terminal, isDry: boolean): Promise<string[]> {
  const used = await loadUsedConfiguration(settings).catch((error: unknown) => {
    throw toFailure(1, settings, error)
  })
  const { retention } = used.config
  return withDatabase(settings, async (database) => {
    const old: ExpiredItems[] = []
    const keys = await loadSigningKeys(database, settings)
    const onBroken = (tenant: string, fault: string) => void stderr.write(`The audit ledger of ${tenant} is kept: ${fault}.\n`)
    const limits = { store: createRetentionStore(database, keys && { keys, now: Date.now, onBroken }), retention, now: Date.now }
    if (isDry) for await (const things of findExpired(limits)) old.push(things)
    else {
      const isDone = await prune({ ...limits, sleep, restFactor, signal: stopping, onRemoved: (things) => void old.push(things) })
      if (!isDone) return [...toLines(old, 'Removed'), 'Stopped before the end; the next prune removes the rest.']
    }
    return toLines(old, isDry ? 'Would be removed' : 'Removed')
  })
}

function toLines(old: readonly ExpiredItems[], verb: string): string[] {
  if (old.length === 0) return ['No data is older than the retention of the configuration.']
  const table = formatTable([['KIND', 'TENANT', 'COUNT'], ...old.map(({ kind, tenant, count }) => [kind, tenant, String(count)])])
  const sums = [...Map.groupBy(old, ({ kind }) => kind)].map(
    ([kind, entries]) => `${entries.reduce((sum, { count }) => sum + count, 0)} ${kind}`,
  )
  return [...table, `${verb}: ${sums.join(', ')}.`]
}
