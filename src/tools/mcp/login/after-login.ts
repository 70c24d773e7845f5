import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { messageOf } from '../../../errors.ts'
import type { Connection, Timing } from '../connection.ts'
import { findLoginRequired, type Logins } from './logins.ts'

interface AfterLoginOptions {
  timing: Pick<Timing, 'loginMs' | 'retryMs'>
  logins: Logins
  log: Logger
}

/**
 * Opens a connection. For a server that requires a login, resolves at once with a connection that is unavailable until a person has logged
 * in with `agent-core tool login`, in any process. Rejects as `connect` does for every other reason.
 */
export async function connectAfterLogin(connect: () => Promise<Connection>, options: AfterLoginOptions): Promise<Connection> {
  const { log } = options
  const { store, key } = options.logins
  const revision = await store.revision(key)
  try {
    return await connect()
  } catch (error) {
    const required = findLoginRequired(error)
    if (!required) throw error
    log.warn({ tool: key.entry, reason: required.message }, 'A tool cannot be used')
    return new AwaitedConnection(connect, options, { reason: required.message, revision })
  }
}

interface Refusal {
  reason: string
  /** The login that was refused; undefined for none. */
  revision: string | undefined
}

/** The connection to a server that requires a login. */
class AwaitedConnection implements Connection {
  private connection: Connection | undefined
  private reason: string
  private readonly closing = new AbortController()
  private readonly opening: Promise<void>

  constructor(connect: () => Promise<Connection>, options: AfterLoginOptions, { reason, revision }: Refusal) {
    this.reason = reason
    this.opening = this.await(connect, options, revision)
  }

  readonly unavailableReason = () => (this.connection ? this.connection.unavailableReason() : this.reason)

  readonly call: Connection['call'] = async (call) => this.current().call(call)

  readonly resources: Connection['resources'] = async (request) => this.current().resources(request)

  async close(): Promise<void> {
    this.closing.abort()
    await this.opening
    await this.connection?.close()
  }

  private current(): Connection {
    if (this.connection) return this.connection
    throw new Error(`The server of this tool cannot be used at the moment: ${this.reason}`)
  }

  /** Connects when the stored login is another than the refused one. A failure of another kind is retried, ever more rarely. */
  private async await(
    connect: () => Promise<Connection>,
    { logins, log, timing }: AfterLoginOptions,
    refused: string | undefined,
  ): Promise<void> {
    const { signal } = this.closing
    let revision = refused
    let failures = 0
    while (!signal.aborted) {
      const delayMs = failures === 0 ? timing.loginMs : Math.max(timing.loginMs, timing.retryMs(failures))
      await sleep(delayMs, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted) return
      try {
        const current = await logins.store.revision(logins.key)
        if (current === revision) continue
        this.connection = await connect()
        return log.info({ tool: logins.key.entry }, 'A tool that had failed is ready')
      } catch (error) {
        this.reason = messageOf(error)
        const isRefused = findLoginRequired(error) !== undefined
        failures = isRefused ? 0 : failures + 1
        if (isRefused) revision = await logins.store.revision(logins.key).catch(() => revision)
      }
    }
  }
}
