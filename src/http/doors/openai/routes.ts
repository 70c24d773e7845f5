import type { CreateServices } from './responses/create.ts'
import { chatCompletionRoutes } from './completions/routes.ts'
import { conversationRoutes, type ConversationServices } from './conversations.ts'
import { embeddingRoutes } from './embeddings-routes.ts'
import { fileRoutes, type FileServices } from './files.ts'
import { modelRoutes } from '../../resources/agent.ts'
import { responseRoutes, storedResponseRoutes, type StoredResponseServices } from './responses/routes.ts'
import type { App } from '../../server/app.ts'

/** The agent for OpenAI clients: requests are translated to chats. Errors have the shape of OpenAI's API. */
export function openAiRoutes(app: App, services: CreateServices & StoredResponseServices & ConversationServices & FileServices): void {
  modelRoutes(app, services)
  embeddingRoutes(app, services)
  chatCompletionRoutes(app, services)
  responseRoutes(app, services)
  storedResponseRoutes(app, services)
  conversationRoutes(app, services)
  fileRoutes(app, services)
}
