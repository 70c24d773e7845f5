import type { Command } from 'commander'
import { messageWithCause } from '../errors.ts'
import { openDatabase } from '../store/open.ts'
import { hold } from './hold.ts'
import { readSettings } from './prepare.ts'
import { pruneNow } from './prune.ts'
import { CommandFailure, type CommandContext } from './terminal.ts'

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
        const line = migrated.length > 0 ? `Migrated: ${migrated.join(', ')}.` : 'The database is up to date.'
        terminal.stdout.write(`${line}\n`)
      } finally {
        release()
      }
    })

  db.command('prune')
    .description('Remove data older than "retention" in the configuration. The service itself does so every hour.')
    .option('--dry-run', 'only count the data')
    .action(async ({ dryRun = false }: { dryRun?: boolean }) => {
      const lines = await pruneNow(readSettings(terminal), terminal, dryRun)
      for (const line of lines) terminal.stdout.write(`${line}\n`)
    })
}
