import type { AddressInfo } from 'node:net'
import type { MetricsSharing } from '../metrics/snapshots.ts'
import { createService, type Service } from '../service.ts'
import type { Settings } from '../settings/settings.ts'
import { hold, addressOf, failToListen, announce } from './running-service.ts'
import { createLogger } from './logger.ts'
import type { CommandContext } from './terminal.ts'
import { toFailure } from './used-configuration.ts'

interface StartOptions {
  settings: Settings
  terminal: CommandContext['terminal']
  version: string
  /** Overrides the port of the settings, for a service that only this command uses. */
  port?: number
  isQuiet?: boolean
  /** True if a database without a configuration gets the sample. */
  mayMakeSample?: boolean
}

/** Starts the service in this process. The caller closes it, then releases the data directory. */
export async function start({ settings, terminal, version, port, isQuiet, mayMakeSample = false }: StartOptions) {
  const { release } = hold(settings)
  try {
    const log = await createLogger(settings, terminal.stdout, { isQuiet: isQuiet ?? false })
    const service = await createService({ settings, environment: terminal.environment, version, log, mayMakeSample })
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

async function listen({ app }: Service, { host }: Settings, port: number): Promise<string> {
  const { level } = app.log
  // Fastify logs the address, which the greeting names: a line of JSON between lines for people.
  app.log.level = 'warn'
  await app.listen({ port, host, backlog }).catch((error: unknown) => failToListen(error, { host, port }))
  app.log.level = level
  return addressOf(host, (app.server.address() as AddressInfo).port)
}

/** Length of the accept queue, so that bursts of connections are not refused. */
const backlog = 8192

interface WorkerStart extends Pick<StartOptions, 'settings' | 'terminal' | 'version' | 'mayMakeSample'> {
  worker: { id: number; pid: number | undefined }
  /** The supervisor, which listens and passes connections to this process. */
  frontDoor: { url: string; metrics: MetricsSharing }
}

/** Starts the service as a worker: several processes share one port. */
export async function startWorker({
  settings,
  terminal,
  version,
  worker,
  frontDoor,
  mayMakeSample = false,
}: WorkerStart): Promise<Service> {
  const log = await createLogger(settings, terminal.stdout, { isQuiet: false, worker })
  try {
    return await createService({ settings, environment: terminal.environment, version, log, frontDoor, mayMakeSample })
  } catch (error) {
    throw toFailure(2, settings, error)
  }
}
