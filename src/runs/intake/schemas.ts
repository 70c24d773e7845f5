import { fitName, ownToolNames } from '../../agent/tool-names.ts'
import type { ToolSet } from '../../agent/tool.ts'
import { invalid, type Fault } from '../../errors.ts'
import type { Owner } from '../../access/owner.ts'
import type { CallerSchemas, ClientTools } from '../execution/ports.ts'
import type { NewChat } from '../new-chat.ts'

/** Characters of all tools as JSON: every model call sends them, and each schema is compiled. */
const maxCharacters = 262_144

interface Surroundings {
  /** The agent's tools. */
  own: ToolSet
  clientTools: Pick<ClientTools, 'faultOf'>
  schemas: Pick<CallerSchemas, 'faultOf'>
  caller: Owner
}

/** True for a chat with schemas of its caller. */
export function hasSchemas({ request }: NewChat): boolean {
  return Boolean(request.responseSchema ?? request.clientTools)
}

/** Refuses schemas that cannot be used, with the path to the faulty part, and client tools that cannot be offered. */
export async function checkSchemas(chat: NewChat, surroundings: Surroundings): Promise<void> {
  const { request, at, schemaLoc = [...at, 'response_schema'] } = chat
  const { schemas, caller } = surroundings
  const fault = request.responseSchema && (await schemas.faultOf('answer', request.responseSchema, caller))
  if (fault) throw invalid([...schemaLoc, ...fault.path], fault.msg, 'json_schema')
  if (request.clientTools) await checkClientTools(chat, surroundings)
}

/**
 * Refuses client tools with names of the agent's own tools, with equal names, or with schemas that cannot be used. A name of the agent's is
 * taken in both of its forms: as configured, and as models see the name.
 */
async function checkClientTools({ request, at, toolLoc }: NewChat, { own, clientTools: { faultOf }, caller }: Surroundings): Promise<void> {
  const { clientTools: tools = [] } = request
  const ownNames = new Set([...ownToolNames, ...own.list().flatMap(({ name, entry }) => [name, fitName(name), entry ?? name])])
  const names = new Set<string>()
  let characters = 0
  const locOf = toolLoc ?? ((index: number, field: string): Fault['loc'] => [...at, 'client_tools', index, field])
  for (const [index, tool] of tools.entries()) {
    if (ownNames.has(tool.name)) throw invalid(locOf(index, 'name'), `the agent has a tool ${tool.name} of its own`)
    if (names.has(tool.name)) throw invalid(locOf(index, 'name'), `another tool has the name ${tool.name}`)
    names.add(tool.name)
    characters += JSON.stringify(tool).length
    if (characters > maxCharacters)
      throw invalid(locOf(index, 'schema'), `the tools must have at most ${maxCharacters} characters together`)
    const fault = await faultOf(tool, caller)
    if (fault !== undefined) throw invalid(locOf(index, 'schema'), fault)
  }
}
