import type { Command } from 'commander'
import { openDatabase } from '../store/open.ts'
import { hold } from './hold.ts'
import { readSettings } from './prepare.ts'
import { pruneNow } from './prune.ts'
import { CommandFailure, type CommandContext } from './terminal.ts'

/** Looks after the database. */
export function addDb(program: Command, { terminal }: CommandContext): void {
  const db = program.command('db').description('Look after the database.')

  db.command('migrate')
    .description('Bring the schema to this version, as a start would. On Postgres services may go on; with SQLite none may be running.')
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
    .description('Remove what is older than "retention" of the configuration keeps it; the service does so every hour by itself.')
    .option('--dry-run', 'only count it')
    .action(async ({ dryRun = false }: { dryRun?: boolean }) => {
      const lines = await pruneNow(readSettings(terminal), terminal, dryRun)
      for (const line of lines) terminal.stdout.write(`${line}\n`)
    })
}

/** With what the database itself said: that it is newer than this program, or can't be reached. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message, cause } = error
  return cause instanceof Error && !message.includes(cause.message) ? `${message} ${cause.message}` : message
}
