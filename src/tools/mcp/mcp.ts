import type { ToolDependencies, ToolGroup, ToolSpec } from '../builder.ts'
import { serverKey } from '../../configuration/tool-pins/server-key.ts'
import { callServerTool } from './call.ts'
import { defaultTiming, openConnection, type Connection, type Timing } from './connection.ts'
import { connectAfterLogin } from './login/after-login.ts'
import { openPins } from './pins.ts'
import { reasonOf } from './reason.ts'
import { createResourceTools } from './resource-tools.ts'
import { toServer, type McpConfig } from './server.ts'
import { openSession } from './open-session.ts'
import { createToolList } from './tool-list.ts'

/** Interval of the check whether changed tools have been accepted. */
const pinPollMs = 2000

/** The tool type `mcp`: the tools of one MCP server, at an address or started as a command. Rejects with a reason for an operator. */
export async function createMcp(spec: ToolSpec, deps: ToolDependencies, timing: Timing = defaultTiming): Promise<ToolGroup> {
  const config = spec.config as McpConfig
  const server = toServer(config, deps)
  const { secrets } = server
  const log = deps.log.child({ server: spec.name })
  const pins = config.pin ? openPins({ store: deps.pins, cacheDir: deps.cacheDir, entry: spec.name, server: config }) : undefined
  const allowed = { sampling: config.sampling === 'allow', elicitation: config.elicitation === 'allow' }
  const logins = { store: deps.logins, key: { entry: spec.name, server: serverKey(config) } }
  let connection: Connection | undefined
  const list = createToolList({
    spec,
    config,
    secrets,
    log,
    ...(pins && { pins }),
    execute: (tool, traits, input, context) =>
      callServerTool(tool, { entry: spec.name, connection: connection!, secrets, allowed, traits, input, context }),
    ...(config.resources && { resourceTools: createResourceTools({ spec, connection: () => connection!, secrets }) }),
  })
  const connect = () =>
    openConnection({
      open: (events, signal) =>
        openSession(server, { outbound: deps.outbound, logins, allowed, timeoutMs: spec.timeoutMs }, events, signal),
      onTools: (listing) => list.update(listing),
      reasonOf: (error) => reasonOf(error, server),
      isPolled: server.kind === 'remote',
      log,
      timing,
      ...(deps.signal && { signal: deps.signal }),
    })
  connection = await connectAfterLogin(connect, { logins, log, timing })
  const pinPolling = pins && setInterval(() => void pollPins().catch((err: unknown) => log.warn({ err }, 'Pins cannot be read')), pinPollMs)
  pinPolling?.unref()

  async function pollPins(): Promise<void> {
    if (list.refused().length > 0 && (await pins?.isModified())) await list.recheck()
  }

  return {
    tools: list.tools,
    refused: list.refused,
    unavailableReason: connection.unavailableReason,
    async close() {
      clearInterval(pinPolling)
      await connection.close()
    },
  }
}
