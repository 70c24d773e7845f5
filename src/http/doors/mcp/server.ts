import {
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  type ServerCapabilities,
  type ServerContext,
  type GetPromptResult,
  type Prompt,
} from '@modelcontextprotocol/server'
import { accessTo, permits } from '../../../access/permissions.ts'
import type { JsonObject } from '../../../agent/messages.ts'
import { nameTools } from '../../../agent/tool-names.ts'
import type { ToolSet } from '../../../agent/tool.ts'
import type { Artifacts } from '../../../artifacts/artifacts.ts'
import type { AgentConfig } from '../../../configuration/schema.ts'
import { ServiceError, toErrorBody, type ErrorCode } from '../../../errors.ts'
import { fieldsOf, isObject } from '../../../json/shape.ts'
import type { DirectExecution } from '../../../runs/tool-executions/direct-execution.ts'
import { refusedCode, type Caller } from '../protocols.ts'
import { ask } from './ask.ts'
import { createReport, type McpCall, clientOf, tasksExtension, type Era } from './call.ts'
import { callConnectorTool, connectorToolsOf } from './connector.ts'
import { artifactTemplate, completeArtifactId, documentTemplate, listResources, readResource, type ResourceServices } from './resources.ts'
import { orFailure } from './results.ts'
import { createTask, legacyTaskMethods, modernTaskMethods, type TaskServices } from './tasks.ts'
import { askName, askTool, execute, toMcpTool, toolsOf } from './tools.ts'

export interface McpServices extends TaskServices {
  artifacts: Pick<Artifacts, 'toAnswerFiles' | 'read' | 'list' | 'content'>
  knowledge: ResourceServices['knowledge']
  tools: DirectExecution
  version: string
}

/** Supplies the schemas of tools, so that the library can compare `Mcp-Param-*` headers with annotated arguments before a call. */
class AgentServer extends McpServer {
  private readonly tools: ToolSet

  constructor(info: { name: string; version: string }, capabilities: ServerCapabilities, tools: ToolSet) {
    super(info, { capabilities })
    this.tools = tools
  }

  override toolInputSchemaJson(name: string): Record<string, unknown> | undefined {
    return toolsOf(this.tools).get(name)?.schema
  }
}

/** One message of a client. */
export interface Exchange {
  caller: Caller
  era: Era
  method: string
}

/** Creates the MCP server for one exchange: the agent, its tools, prompts and the files of one caller. */
export async function createMcpServer(services: McpServices, exchange: Exchange): Promise<McpServer> {
  const { caller, era, method } = exchange
  const { config, tools } = services.agent()
  // The library checks a call against the schema of its tool, so wait until all tools are connected.
  if (method === 'tools/call' || method === 'tools/list') await tools.settling()
  const hasTasks = permits(caller.principal, accessTo.readRun)
  const agentServer = new AgentServer({ name: config.name, version: services.version }, capabilitiesOf(era, hasTasks), tools)
  registerLists(agentServer, services, exchange)
  const call = (context: ServerContext): McpCall => ({
    caller,
    client: clientOf(era, caller.request, context),
    context,
    disconnected: AbortSignal.any([context.mcpReq.signal, caller.disconnected]),
    send: async (message) => agentServer.server.transport?.send(message, { relatedRequestId: context.mcpReq.id }),
    report: createReport(context),
  })
  const methods = hasTasks ? (era === 'legacy' ? legacyTaskMethods : modernTaskMethods) : {}
  const handle = (params: Record<string, unknown>, context: ServerContext): Promise<Result> =>
    withErrorMapping(caller, async () => {
      if (method === 'tools/call') return callTool(services, call(context), params, hasTasks)
      return methods[method]!(services, call(context), params)
    })
  if (method === 'tools/call' || Object.hasOwn(methods, method)) register(agentServer, exchange, handle)
  return agentServer
}

type Handle = (params: Record<string, unknown>, context: ServerContext) => Promise<Result>

/**
 * Registers a method whose results the library does not know: its own registration of `tools/call` refuses tasks as results. It looks for a
 * fallback when nothing is registered, but in revision 2026-07-28 passes only registered methods with the names of removed ones.
 */
function register({ server }: McpServer, { era, method }: Exchange, handle: Handle): void {
  if (era === 'modern' && (method === 'tasks/get' || method === 'tasks/cancel')) {
    server.setRequestHandler(method, { params: anyParams }, (params, context) => handle(fieldsOf(params), context))
  } else {
    server.removeRequestHandler(method)
    server.fallbackRequestHandler = (request, context) => handle(fieldsOf(request.params), context)
  }
}

/** The parameters of a method are checked where they are used. */
const anyParams = {
  '~standard': { version: 1 as const, vendor: 'agent-core', validate: (value: unknown) => ({ value: fieldsOf(value) }) },
}

function capabilitiesOf(era: Era, hasTasks: boolean): ServerCapabilities {
  const capabilities = { tools: {}, resources: {}, prompts: {}, completions: {} }
  if (!hasTasks) return capabilities
  if (era === 'modern') return { ...capabilities, extensions: { [tasksExtension]: {} } }
  return { ...capabilities, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }
}

function registerLists({ server }: McpServer, services: McpServices, { caller, era }: Exchange): void {
  const { principal } = caller
  const { artifacts, agent } = services
  const config = () => agent().config
  const mayExecute = permits(principal, accessTo.executeTool)
  const mayBeTask = era === 'legacy' && permits(principal, accessTo.readRun)
  server.setRequestHandler('tools/list', () => ({
    tools: [
      askTool(config(), mayBeTask),
      ...(mayExecute ? [...[...toolsOf(agent().tools)].map(toMcpTool), ...connectorToolsOf(agent().tools).values()] : []),
    ],
  }))
  server.setRequestHandler('prompts/list', () => ({ prompts: listPrompts(config()) }))
  server.setRequestHandler('prompts/get', ({ params }) => getPrompt(config(), params.name))
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [artifactTemplate, documentTemplate] }))
  server.setRequestHandler('resources/list', ({ params }) =>
    withErrorMapping(caller, () => listResources(services, principal, params?.cursor)),
  )
  server.setRequestHandler('resources/read', ({ params }) => withErrorMapping(caller, () => readResource(services, principal, params.uri)))
  server.setRequestHandler('completion/complete', ({ params: { ref, argument } }) =>
    withErrorMapping(caller, async () => {
      if (ref.type === 'ref/resource' && ref.uri === artifactTemplate.uriTemplate) {
        return completeArtifactId(artifacts, principal, argument.value)
      }
      // Conversation starters have no arguments.
      if (ref.type === 'ref/prompt') getPrompt(config(), ref.name)
      return { completion: { values: [] } }
    }),
  )
}

/** The answer to `tools/call`: the result of the tool, a task, or forms for the user. */
async function callTool(services: McpServices, call: McpCall, params: Record<string, unknown>, hasTasks: boolean): Promise<Result> {
  const { name, arguments: input = {}, task } = params
  if (typeof name !== 'string' || !isObject(input)) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'A call has a name, and arguments that are an object.')
  }
  if (name !== askName) {
    if (call.client.era === 'legacy' && task !== undefined && hasTasks)
      throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `The tool ${name.slice(0, 100)} cannot be called as a task.`)
    const isForConnectors = connectorToolsOf(services.agent().tools).has(name)
    return orFailure(() =>
      isForConnectors
        ? callConnectorTool(services, call, name, input as JsonObject)
        : execute(services, call, { name, input: input as JsonObject }),
    )
  }
  if (!hasTasks) return orFailure(() => ask(services, call, input))
  // Legacy clients ask for a task, and then need one; others take it in place of a result.
  if (call.client.era === 'legacy') {
    return task === undefined ? orFailure(() => ask(services, call, input)) : createTask(services, call, input)
  }
  const isNew = call.context.mcpReq.requestState() === undefined
  return orFailure(() => (call.client.takesTasks && isNew ? createTask(services, call, input) : ask(services, call, input)))
}

type Starters = Pick<AgentConfig, 'conversation_starters'>

/** The conversation starters of the agent as prompts, by names that every client accepts. */
function listPrompts(config: Starters): Prompt[] {
  return [...promptsOf(config)].map(([name, { title, message }]) => ({ name, title, description: message }))
}

function getPrompt(config: Starters, name: string): GetPromptResult {
  const starter = promptsOf(config).get(name)
  if (!starter) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no prompt ${name.slice(0, 100)}.`)
  return { description: starter.title, messages: [{ role: 'user', content: { type: 'text', text: starter.message } }] }
}

function promptsOf({ conversation_starters: starters }: Starters) {
  return nameTools(starters.map(({ title, message }) => ({ name: title, title, message })))
}

/** Errors that the client has caused by its parameters. */
const callersErrors: ReadonlySet<ErrorCode> = new Set([
  'already_decided',
  'forbidden',
  'gone',
  'input_too_large',
  'not_found',
  'not_interrupted',
  'run_ended',
  'validation',
])

/** Runs a handler, and maps its errors: the library sends the message of any thrown error to the client. Unexpected errors are only logged. */
async function withErrorMapping<T>({ request }: Caller, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    if (error instanceof ServiceError && error.code === 'budget_exceeded')
      throw new ProtocolError(refusedCode, error.message, toErrorBody(error).details)
    if (error instanceof ServiceError && error.code !== 'internal') {
      const { InvalidParams, InternalError } = ProtocolErrorCode
      throw new ProtocolError(callersErrors.has(error.code) ? InvalidParams : InternalError, error.message)
    }
    request.log.error({ err: error }, 'unexpected failure')
    throw new ProtocolError(ProtocolErrorCode.InternalError, 'Internal server error.')
  }
}
