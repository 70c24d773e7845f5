import { asyncRoutes } from './doors/core/async.ts'
import { chatRoutes } from './doors/core/chat.ts'
import { chatCompletionRoutes } from './doors/openai/completions/routes.ts'
import { healthRoutes, prometheusRoute } from './resources/status.ts'

/** The routes of a service that is only asked. The others, which are most of the code, are loaded at the first request to one of them. */
export const firstRoutes = [chatRoutes, asyncRoutes, chatCompletionRoutes, healthRoutes, prometheusRoute] as const
