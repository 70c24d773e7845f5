import type { CallOptions, Query, Reply, RequestOptions } from '../operation.ts'
import type { Transport } from '../transport.ts'

export type Configuration = Reply<'GET', '/core/v1/agent/config'>
export type ConfigurationUpdate = Reply<'PUT', '/core/v1/agent/config'>
export type ConfigurationFields = RequestOptions<'PUT', '/core/v1/agent/config'>['body']['configuration']

export type ConfigurationHistory = Reply<'GET', '/core/v1/agent/config/history'>
export type RestoreRequest = RequestOptions<'POST', '/core/v1/agent/config/restore'>['body']

export interface UpdateOptions extends CallOptions {
  /** The `version` that the change is based on. Throws 412 if another version is in use. */
  ifMatch?: string | undefined
  /** Checks the change and changes nothing. */
  validateOnly?: boolean | undefined
  /** Uses the change without storing it. */
  inMemoryOnly?: boolean | undefined
  /** The reason to make the change although it has not passed the gate. Without it, such a change throws 409 `GateNotPassed`. */
  override?: string | undefined
}

/** The configuration of the agent, `agent.yaml`. */
export interface Configurations {
  /** Returns the configuration in use, without its secrets, and its version. */
  get(options?: CallOptions): Promise<Configuration>
  /** Merges fields into the configuration (RFC 7396): objects merge, null removes, lists replace. Throws 422 with all faults. */
  update(fields: ConfigurationFields, options?: UpdateOptions): Promise<ConfigurationUpdate>
  /** Lists the earlier versions of the configuration, newest first. */
  history(query?: Query<'GET', '/core/v1/agent/config/history'>, options?: CallOptions): Promise<ConfigurationHistory>
  /** Uses an earlier version again. With `override`, also one that has not passed the gate. */
  restore(request: RestoreRequest, options?: CallOptions): Promise<Reply<'POST', '/core/v1/agent/config/restore'>>
  /** Returns the JSON Schema of the configuration. No key is needed. */
  schema(options?: CallOptions): Promise<Reply<'GET', '/core/v1/agent/config/schema'>>
}

export function createConfigurations(transport: Transport): Configurations {
  return {
    get: (options) => transport.request('GET', '/core/v1/agent/config', options),

    update(configuration, { ifMatch, validateOnly = false, inMemoryOnly = false, override, headers, signal } = {}) {
      const body = { configuration, validate_only: validateOnly, in_memory_only: inMemoryOnly, override }
      const condition = ifMatch === undefined ? undefined : `"${ifMatch}"`
      return transport.request('PUT', '/core/v1/agent/config', { body, headers: { ...headers, 'if-match': condition }, signal })
    },

    history: (query, options) => transport.request('GET', '/core/v1/agent/config/history', { ...options, query }),
    restore: (body, options) => transport.request('POST', '/core/v1/agent/config/restore', { ...options, body }),
    schema: (options) => transport.request('GET', '/core/v1/agent/config/schema', options),
  }
}
