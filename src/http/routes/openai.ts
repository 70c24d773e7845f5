import type { FastifyInstance } from 'fastify'
import type { CreateServices } from '../openai/responses/create.ts'
import { chatCompletionRoutes } from './chat-completions.ts'
import { conversationRoutes, type ConversationServices } from './conversations.ts'
import { embeddingRoutes } from './embeddings.ts'
import { fileRoutes, type FileServices } from './files.ts'
import { modelRoutes } from './models.ts'
import { responseRoutes } from './responses.ts'
import { storedResponseRoutes, type StoredResponseServices } from './stored-responses.ts'

/** The agent for OpenAI clients: requests are translated to chats. Errors have the shape of OpenAI's API. */
export function openAiRoutes(
  app: FastifyInstance,
  services: CreateServices & StoredResponseServices & ConversationServices & FileServices,
): void {
  modelRoutes(app, services)
  embeddingRoutes(app, services)
  chatCompletionRoutes(app, services)
  responseRoutes(app, services)
  storedResponseRoutes(app, services)
  conversationRoutes(app, services)
  fileRoutes(app, services)
}
