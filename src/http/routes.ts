import { a2aHttpRoutes } from './doors/a2a/http-binding.ts'
import { a2aRoutes } from './doors/a2a/routes.ts'
import { agUiRoutes } from './doors/ag-ui/routes.ts'
import { messagesRoutes } from './doors/anthropic/routes.ts'
import { asyncRoutes } from './doors/core/async.ts'
import { chatRoutes } from './doors/core/chat.ts'
import { runStreamRoute } from './doors/core/run-stream.ts'
import { scheduleRoutes } from './doors/core/schedules.ts'
import { toolExecutionRoute } from './doors/core/tool-execution.ts'
import { assistantRoutes } from './doors/langgraph/assistants.ts'
import { threadRunRoutes } from './doors/langgraph/runs.ts'
import { listedRunRoutes } from './doors/langgraph/thread-runs.ts'
import { threadStateRoutes } from './doors/langgraph/thread-states.ts'
import { threadRoutes } from './doors/langgraph/threads.ts'
import { resourceMetadataRoutes } from './doors/mcp/resource-metadata.ts'
import { mcpRoutes } from './doors/mcp/routes.ts'
import { chatCompletionRoutes } from './doors/openai/completions/routes.ts'
import { conversationRoutes } from './doors/openai/conversations.ts'
import { embeddingRoutes } from './doors/openai/embeddings.ts'
import { fileRoutes } from './doors/openai/files.ts'
import { modelRoutes } from './doors/openai/models.ts'
import { compactRoute } from './doors/openai/responses/compact.ts'
import { inputTokensRoute } from './doors/openai/responses/input-tokens.ts'
import { responseRoutes, storedResponseRoutes } from './doors/openai/responses/routes.ts'
import { responseSocketRoutes } from './doors/openai/responses/websocket.ts'
import { uiChatRoutes } from './doors/ui-chat/routes.ts'
import { approvalRoutes } from './resources/runs/approvals.ts'
import { accessRoutes } from './resources/access.ts'
import { agentModelRoutes, metadataRoutes } from './resources/agent.ts'
import { auditRoutes } from './resources/audit.ts'
import { artifactRoutes } from './resources/artifacts.ts'
import { budgetRoutes } from './resources/budgets.ts'
import { changedToolRoutes } from './resources/changed-tools.ts'
import { configurationHistoryRoutes } from './resources/configuration-history.ts'
import { configurationRoutes } from './resources/configuration.ts'
import { consoleSessionRoutes } from './resources/console-session.ts'
import { datasetRoutes } from './resources/datasets.ts'
import { experimentRoutes } from './resources/experiments.ts'
import { contextFileRoutes } from './resources/context-files.ts'
import { keyRoutes } from './resources/keys.ts'
import { knowledgeRoutes } from './resources/knowledge.ts'
import { memoryRoutes } from './resources/memories.ts'
import { observabilityRoutes } from './resources/observability.ts'
import { messageRoutes } from './resources/runs/messages.ts'
import { callbackListRoute, runListRoute } from './resources/runs/run-list.ts'
import { runTraceRoutes } from './resources/runs/run-trace.ts'
import { runRoutes } from './resources/runs/runs.ts'
import { sessionRoutes } from './resources/sessions.ts'
import { healthRoutes, prometheusRoute, statusRoute } from './resources/status.ts'
import { subAgentRoutes } from './resources/sub-agents.ts'
import { toolRoutes } from './resources/tools.ts'

/** All routes of the interface, in the order of the OpenAPI document. */
export const routes = [
  // The doors of people and programs: each asks the agent in a protocol of its own.
  chatRoutes,
  asyncRoutes,
  // OpenAI clients: requests are translated to chats, and errors have the shape of OpenAI's API.
  modelRoutes,
  embeddingRoutes,
  chatCompletionRoutes,
  responseRoutes,
  inputTokensRoute,
  compactRoute,
  responseSocketRoutes,
  ...storedResponseRoutes,
  ...conversationRoutes,
  ...fileRoutes,
  messagesRoutes,
  agUiRoutes,
  uiChatRoutes,
  // Clients of LangGraph's Agent Server.
  assistantRoutes,
  ...threadRoutes,
  ...threadStateRoutes,
  ...threadRunRoutes,
  ...listedRunRoutes,
  // What the service keeps.
  contextFileRoutes,
  ...sessionRoutes,
  runListRoute,
  ...runRoutes,
  messageRoutes,
  runStreamRoute,
  runTraceRoutes,
  callbackListRoute,
  approvalRoutes,
  ...scheduleRoutes,
  ...knowledgeRoutes,
  ...memoryRoutes,
  ...subAgentRoutes,
  toolRoutes,
  toolExecutionRoute,
  changedToolRoutes,
  prometheusRoute,
  ...observabilityRoutes,
  ...budgetRoutes,
  ...datasetRoutes,
  ...experimentRoutes,
  statusRoute,
  ...artifactRoutes,
  metadataRoutes,
  agentModelRoutes,
  ...configurationRoutes,
  ...configurationHistoryRoutes,
  // The doors of other agents.
  mcpRoutes,
  resourceMetadataRoutes,
  a2aRoutes,
  a2aHttpRoutes,
  // Callers and their keys, and the probes.
  accessRoutes,
  ...keyRoutes,
  ...auditRoutes,
  ...consoleSessionRoutes,
  healthRoutes,
] as const
