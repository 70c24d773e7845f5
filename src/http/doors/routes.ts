import { a2aHttpRoutes } from './a2a/http-binding.ts'
import { a2aRoutes } from './a2a/routes.ts'
import { agUiRoutes } from './ag-ui/routes.ts'
import { asyncRoutes } from './core/async.ts'
import { chatRoutes } from './core/chat.ts'
import { resourceMetadataRoutes } from './mcp/resource-metadata.ts'
import { mcpRoutes } from './mcp/routes.ts'
import { openAiRoutes } from './openai/routes.ts'
import { uiChatRoutes } from './ui-chat/routes.ts'

/** The doors of people and programs: each asks the agent in a protocol of its own. */
export const chatDoors = [chatRoutes, asyncRoutes, openAiRoutes, agUiRoutes, uiChatRoutes] as const

/** The doors of other agents. */
export const agentDoors = [mcpRoutes, resourceMetadataRoutes, a2aRoutes, a2aHttpRoutes] as const
