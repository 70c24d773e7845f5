import { createChat, type Chat } from './chat.ts'
import { createApprovals, type Approvals } from './resources/approvals.ts'
import { createArtifacts, type Artifacts } from './resources/artifacts.ts'
import { createAudit, type Audit } from './resources/audit.ts'
import { createBudgets, type Budgets } from './resources/budgets.ts'
import { createConfigurations, type Configurations } from './resources/configuration.ts'
import { createEvals, type Evals } from './resources/evals.ts'
import { createKeys, type Keys } from './resources/keys.ts'
import { createMemories, type Memories } from './resources/memories.ts'
import { createRuns, type Runs } from './resources/runs.ts'
import { createSchedules, type Schedules } from './resources/schedules.ts'
import { createServiceMethods, type ServiceMethods } from './resources/service.ts'
import { createSessions, type Sessions } from './resources/sessions.ts'
import { createSubAgents, type SubAgents } from './resources/sub-agents.ts'
import { createTools, type ToolMethods } from './resources/tools.ts'
import type { RetryOptions } from './retry.ts'
import { createTransport, type Transport, type TransportOptions } from './transport.ts'

export interface ClientOptions extends TransportOptions, RetryOptions {}

/** Calls a service. Every method throws `AgentCoreError`, or the reason of its aborted signal. */
export interface Client extends Transport, Chat, ServiceMethods {
  approvals: Approvals
  artifacts: Artifacts
  audit: Audit
  budgets: Budgets
  configuration: Configurations
  evals: Evals
  keys: Keys
  memories: Memories
  runs: Runs
  schedules: Schedules
  sessions: Sessions
  subAgents: SubAgents
  tools: ToolMethods
}

/** Creates a client of the service at `baseUrl`. Nothing is sent until a method is called. */
export function createClient(options: ClientOptions = {}): Client {
  const transport = createTransport(options)
  return {
    ...transport,
    ...createChat(transport, options),
    ...createServiceMethods(transport),
    approvals: createApprovals(transport),
    artifacts: createArtifacts(transport),
    audit: createAudit(transport),
    budgets: createBudgets(transport),
    configuration: createConfigurations(transport),
    evals: createEvals(transport, options),
    keys: createKeys(transport),
    memories: createMemories(transport),
    runs: createRuns(transport, options),
    schedules: createSchedules(transport),
    sessions: createSessions(transport),
    subAgents: createSubAgents(transport),
    tools: createTools(transport),
  }
}
