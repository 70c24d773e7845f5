import type { AgentExtension } from '@a2a-js/sdk'
import { RequestMalformedError } from '@a2a-js/sdk/errors'
import { Type, type Static } from 'typebox'
import { ChatBody } from '../../resources/schemas.ts'
import { bodyCheck, toFaults } from '../../server/validation.ts'
import { fieldsOf } from '../../../json/shape.ts'

/** Name of the extension, and of its entry in the metadata of a message or a request. */
export const chatOptions = 'urn:agent-core:chat-options:1'

/** The extension as the agent card declares it. */
export const chatOptionsExtension: AgentExtension = {
  uri: chatOptions,
  description: `The metadata of a message may have the entry ${chatOptions}: an object with response_schema and client_tools, as in POST /core/v1/chain.`,
  required: false,
  params: undefined,
}

const Options = Type.Pick(ChatBody, ['response_schema', 'client_tools'])
type Options = Static<typeof Options>

const check = bodyCheck(Options)

/** The options in the metadata of a message. Throws `RequestMalformedError` with the path of a fault. */
export function chatOptionsOf(metadata: Readonly<Record<string, unknown>>): Options {
  const options = metadata[chatOptions]
  if (options === undefined) return {}
  const validation = check(options)
  if (validation) throw new RequestMalformedError(`metadata.${chatOptions}: ${toFaults({ validation, validationContext: 'body' }).message}`)
  const { response_schema, client_tools } = fieldsOf(options) as Options
  return { ...(response_schema === undefined ? {} : { response_schema }), ...(client_tools ? { client_tools } : {}) }
}
