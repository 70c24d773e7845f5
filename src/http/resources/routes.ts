import { approvalRoutes } from './runs/approvals.ts'
import { accessRoutes } from './access.ts'
import { agentModelRoutes, metadataRoutes } from './agent.ts'
import { artifactRoutes } from './artifacts.ts'
import { changedToolRoutes } from './changed-tools.ts'
import { configurationHistoryRoutes } from './configuration-history.ts'
import { configurationRoutes } from './configuration.ts'
import { consoleSessionRoutes } from './console-session.ts'
import { contextFileRoutes } from './context-files.ts'
import { keyRoutes } from './keys.ts'
import { knowledgeRoutes } from './knowledge.ts'
import { memoryRoutes } from './memories.ts'
import { observabilityRoutes } from './observability.ts'
import { callbackListRoute, runListRoute } from './runs/run-list.ts'
import { runTraceRoutes } from './runs/run-trace.ts'
import { runRoutes } from './runs/runs.ts'
import { sessionRoutes } from './sessions.ts'
import { healthRoutes, prometheusRoute, statusRoute } from './status.ts'
import { subAgentRoutes } from './sub-agents.ts'
import { toolRoutes } from './tools.ts'

/** Routes of what the service keeps, in the order of the OpenAPI document. */
export const dataRoutes = [
  contextFileRoutes,
  sessionRoutes,
  runListRoute,
  runRoutes,
  runTraceRoutes,
  callbackListRoute,
  approvalRoutes,
  knowledgeRoutes,
  memoryRoutes,
  subAgentRoutes,
  toolRoutes,
  changedToolRoutes,
  prometheusRoute,
  observabilityRoutes,
  statusRoute,
  artifactRoutes,
  metadataRoutes,
  agentModelRoutes,
  configurationRoutes,
  configurationHistoryRoutes,
] as const

/** Routes of callers and their keys, and the probes. */
export const callerRoutes = [accessRoutes, keyRoutes, consoleSessionRoutes, healthRoutes] as const
