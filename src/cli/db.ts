import type { Command } from 'commander'
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
          throw new CommandFailure(1, [reasonOf(error)])
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

/** The message with the message of the cause: only the cause says that the database is newer than this program, or unreachable. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message, cause } = error
  return cause instanceof Error && !message.includes(cause.message) ? `${message} ${cause.message}` : message
}
