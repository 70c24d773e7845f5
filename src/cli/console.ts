import type { Command } from 'commander'
import { messageOf } from '../errors.ts'
import type { Settings } from '../settings/settings.ts'
import { addressOfReplica, findService, readKey, toUrl, type ServiceOptions } from './running-service.ts'
import { readSettings } from './prepare.ts'
import { CommandFailure, type CommandContext } from './terminal.ts'

/** Adds the command that prints an address of the console with a one-time code. The address never has a key. */
export function addConsole(program: Command, { terminal }: CommandContext): void {
  program
    .command('console')
    .description('Print an address that opens the console and signs you in.')
    .option('--url <url>', 'address of a service (default: the service of DATA_DIR)', toUrl)
    .option('--key <key>', 'an access key, or @FILE with a key (default: admin.key in DATA_DIR)')
    .addHelpText('after', '\nThe address works once, within a minute. Standard output has only the address.')
    .action(async (options: ServiceOptions) => {
      const settings = readSettings(terminal)
      const ownUrl = await findService(settings)
      const url = options.url ?? settings.publicUrl ?? ownUrl ?? addressOfReplica(settings)
      const isForeign = options.url !== undefined && options.url !== ownUrl && options.url !== settings.publicUrl
      const calledUrl = options.url ?? ownUrl ?? url
      const code =
        isForeign || options.key !== undefined
          ? await requestCode(calledUrl, await readKey(options, settings, { terminal, isOwn: false }))
          : await storeCode(settings)
      terminal.stdout.write(`${url}/console/sign-in#code=${code}\n`)
      terminal.stderr.write('Open the address in a browser within a minute. It works once.\n')
    })
}

async function requestCode(url: string, key: string): Promise<string> {
  const refuse = (reason: string) => new CommandFailure(1, [`${url} gave no code: ${reason}`])
  const response = await fetch(`${url}/console/code`, { method: 'POST', headers: { 'x-service-access': key } }).catch((error: unknown) => {
    throw refuse(messageOf(error instanceof Error && error.cause instanceof Error ? error.cause : error))
  })
  const reply = (await response.json().catch(() => ({}))) as { code?: unknown; body?: unknown }
  if (response.status === 201 && typeof reply.code === 'string') return reply.code
  throw refuse(typeof reply.body === 'string' ? reply.body : `the status is ${response.status}.`)
}

/** Stores a code for the administrator's key in the database of the service. */
async function storeCode(settings: Settings): Promise<string> {
  const { createAdminCode } = await import('../service/console.ts')
  const code = await createAdminCode(settings)
  if (code !== undefined) return code
  throw new CommandFailure(1, ["The administrator's key is missing or has expired. A start of the service makes a new one."])
}
