import type { Command } from 'commander'
import { type Client, createClient } from '../../client/src/index.ts'
import { toFailure } from './chat/service-client.ts'
import { readSettings } from './prepare.ts'
import { reachService, readKey, toUrl, type ServiceOptions } from './running-service.ts'
import type { Terminal } from './terminal.ts'

/** Adds a command with the options of the service. */
export function addServiceCommand(parent: Command, text: string, description: string): Command {
  return parent
    .command(text)
    .description(description)
    .option('--url <url>', 'address of a service (default: the service of DATA_DIR)', toUrl)
    .option('--key <key>', 'an access key, or @FILE with a key (default: admin.key in DATA_DIR)')
}

/** Calls the service of the options. The message of a refusal ends the command. */
export async function ask<T>(terminal: Terminal, options: ServiceOptions, work: (client: Client, url: string) => Promise<T>): Promise<T> {
  const settings = readSettings(terminal)
  const { url, isOwn } = await reachService(options, settings)
  const client = createClient({ baseUrl: url, accessKey: await readKey(options, settings, { terminal, isOwn }) })
  return work(client, url).catch((error: unknown) => {
    throw toFailure(error)
  })
}
