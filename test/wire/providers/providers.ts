import type { WireProvider } from '../wire.ts'
import { anthropic } from './anthropic.ts'
import { azure, openai } from './openai.ts'
import { bedrock } from './bedrock.ts'
import { deepseek } from './deepseek.ts'
import { google } from './google.ts'
import { groq } from './groq.ts'
import { llamacpp, ollama, vllm } from './local.ts'
import { mistral } from './mistral.ts'
import { openrouter } from './openrouter.ts'
import { azureResponses, openaiResponses, otherOrganisation, xaiResponses } from './responses.ts'
import { xai } from './xai.ts'

/** Every provider of the table. */
export const providers: readonly WireProvider[] = [
  openai,
  azure,
  openaiResponses,
  azureResponses,
  anthropic,
  google,
  bedrock,
  mistral,
  deepseek,
  openrouter,
  groq,
  xai,
  xaiResponses,
  ollama,
  vllm,
  llamacpp,
]

/** Second accounts of providers, which take part in tests of their own. */
export const otherAccounts: readonly WireProvider[] = [otherOrganisation]
