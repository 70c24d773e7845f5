import type { CallOptions, Query, Reply } from '../operation.ts'
import type { Transport } from '../transport.ts'

export type Metadata = Reply<'GET', '/core/v1/metadata'>['body']
export type AgentModels = Reply<'GET', '/core/v1/agent/models'>
export type Caller = Reply<'GET', '/core/v1/me'>
export type Roles = Reply<'GET', '/core/v1/roles'>
export type Metrics = Reply<'GET', '/core/v1/metrics'>
export type ContextFiles = Reply<'GET', '/core/v1/context_files'>
export type CallbackPage = Reply<'GET', '/core/v1/callbacks'>
type CallbackFilter = Query<'GET', '/core/v1/callbacks'>
type MetricsFilter = Query<'GET', '/core/v1/metrics'>
type LogFilter = Query<'GET', '/core/v1/logs'>

/** An ended run, as the log lists it. */
export interface LogEntry {
  name: string
  id: string
  model: string | null
  error: string | null
  status: 'success' | 'error' | 'cancelled' | 'timeout'
  /** Seconds. */
  latency: number
  /** Epoch milliseconds. */
  end_time: number
  completion_tokens: number
  total_tokens: number
}

export interface LogPage {
  entries: LogEntry[]
  total: number
  has_more: boolean
}

/** The service, its agent, and the caller. */
export interface ServiceMethods {
  /** Returns name, description and conversation starters of the agent. */
  metadata(options?: CallOptions): Promise<Metadata>
  /** Lists the configured models, and what the service believes that each can do. */
  models(options?: CallOptions): Promise<AgentModels>
  /** Returns the caller of the key, with its roles and permissions. */
  me(options?: CallOptions): Promise<Caller>
  /** Lists the roles with their permissions. */
  roles(options?: CallOptions): Promise<Roles>
  /** Lists files whose path contains `text`, which a chat may name in `context_files`. */
  contextFiles(text?: string, options?: CallOptions): Promise<ContextFiles>
  /** Lists the callbacks of asynchronous chats with every attempt, newest first. */
  callbacks(filter?: CallbackFilter, options?: CallOptions): Promise<CallbackPage>
  /** Returns counts, latencies and tokens of the tenant's runs. */
  metrics(filter?: MetricsFilter, options?: CallOptions): Promise<Metrics>
  /** Lists the ended runs of the tenant, newest first. */
  logs(filter?: LogFilter, options?: CallOptions): Promise<LogPage>
}

export function createServiceMethods(transport: Transport): ServiceMethods {
  return {
    metadata: async (options) => (await transport.request('GET', '/core/v1/metadata', options)).body,
    models: (options) => transport.request('GET', '/core/v1/agent/models', options),
    me: (options) => transport.request('GET', '/core/v1/me', options),
    roles: (options) => transport.request('GET', '/core/v1/roles', options),
    contextFiles: (q, options) => transport.request('GET', '/core/v1/context_files', { ...options, query: { q } }),
    callbacks: (query, options) => transport.request('GET', '/core/v1/callbacks', { ...options, query }),
    metrics: (query, options) => transport.request('GET', '/core/v1/metrics', { ...options, query }),
    async logs(query, options) {
      const { data, ...page } = await transport.request('GET', '/core/v1/logs', { ...options, query })
      return { ...page, entries: JSON.parse(data) as LogEntry[] }
    },
  }
}
