import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Command } from 'commander'
import { createLogger } from './logger.ts'
import { CommandFailure, type CommandContext } from './terminal.ts'
import { adviseOnModels } from './doctor/model-advice.ts'
import { hold } from './hold.ts'
import { makeMissing, readSettings } from './prepare.ts'
import { announce, withdraw } from './running-service.ts'
import { toFailure } from './used-configuration.ts'
import { createService, type Service } from '../service.ts'
import type { Settings } from '../settings.ts'

/** How long running chats may go on after SIGTERM. */
const drainMs = 30_000

export function addServe(program: Command, context: CommandContext): void {
  program
    .command('serve')
    .description('Start the service.')
    .action(() => serve(context))
}

async function serve({ terminal, version }: CommandContext): Promise<void> {
  const settings = readSettings(terminal)
  const made = await makeMissing(settings)
  const { service, url, release } = await start({ settings, terminal, version })
  const say = (line: string) => terminal.stdout.write(`${line}\n`)
  for (const file of made) say(`Made ${file}`)
  say(`Agent Core ${version} listens on ${url}`)
  for (const line of await adviseOnModels(service.agent.config, terminal.environment)) say(line)
  say('Try it:')
  say(`  curl -s ${url}/core/v1/chain -H "x-service-access: $(cat ${service.adminKeyFile})" -H 'content-type: application/json' \\`)
  say(`    -d '{"messages": [{"role": "user", "content": "What were the total sales by region?"}]}'`)
  say(`Read more: ${url}/docs`)
  if (!terminal.stopping.aborted) await once(terminal.stopping, 'abort')
  say('Stopping: finishing what runs.')
  withdraw(settings.dataDir)
  await service.close(drainMs)
  release()
}

interface Start {
  settings: Settings
  terminal: CommandContext['terminal']
  version: string
  /** Overrides the settings: for a service of this command alone. */
  port?: number
  isQuiet?: boolean
}

/** Starts the service in this process. The caller closes it, then releases the data directory. */
export async function start({ settings, terminal, version, port, isQuiet }: Start) {
  const { release } = hold(settings)
  try {
    const log = await createLogger(settings, terminal.stdout, { isQuiet: isQuiet ?? false })
    const service = await createService({ settings, environment: terminal.environment, version, log })
    try {
      const url = await listen(service, settings, port ?? settings.port)
      await announce(settings.dataDir, url)
      return { service, url, release }
    } catch (error) {
      await service.close(0)
      throw error
    }
  } catch (error) {
    release()
    throw toFailure(2, settings, error)
  }
}

/** Answers with the address that it is bound to; how others reach it (PUBLIC_URL) may be another. */
async function listen({ app }: Service, { host }: Settings, port: number): Promise<string> {
  try {
    await app.listen({ port, host, backlog })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new CommandFailure(1, [`Can't listen on ${host}:${port} (${code}). Set PORT or HOST to another.`])
  }
  const bound = app.server.address() as AddressInfo
  const name = host.includes(':') ? `[${host}]` : host
  return `http://${name}:${bound.port}`
}

/** Connections that come at once are taken, not refused. */
const backlog = 8192
