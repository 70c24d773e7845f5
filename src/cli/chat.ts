import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { InvalidArgumentError, type Command } from 'commander'
import { isId } from '../http/server/request-headers.ts'
import type { Settings } from '../settings/settings.ts'
import { CommandFailure, type CommandContext, type Terminal } from './terminal.ts'
import { Conversation } from './chat/conversation.ts'
import { findMissing, createMissing, readSettings } from './prepare.ts'
import { findService, withdraw, readKey, toUrl, type ServiceOptions } from './running-service.ts'
import { withoutControls } from './chat/markdown-stream.ts'
import { createServiceClient, type ServiceClient } from './chat/service-client.ts'
import { answerLines, askOnce, converse } from './chat/terminal-chat.ts'

interface ChatOptions extends ServiceOptions {
  session?: string
  message?: string
  files?: string
}

export function addChat(program: Command, context: CommandContext): void {
  program
    .command('chat')
    .description('Talk to the agent in the terminal.')
    .option('--url <url>', 'address of a service (default: the service of DATA_DIR, else a new service for this conversation)', toUrl)
    .option('--key <key>', 'an access key, or @FILE with a key (default: admin.key in DATA_DIR)')
    .option('--session <id>', 'continue this session', toSession)
    .option('--message <text>', 'ask one question, print the answer and exit')
    .option('--files <folder>', 'save the files of answers here (default: chat-files in DATA_DIR)')
    .addHelpText('after', '\nWithout a terminal, each line of standard input is a question, and standard output has only the answers.')
    .action((options: ChatOptions) => chat(options, context))
}

async function chat(options: ChatOptions, context: CommandContext): Promise<void> {
  const { terminal } = context
  const settings = readSettings(terminal)
  const service = await findOrStart(options, settings, context)
  try {
    const key = await readKey(options, settings, { terminal, isOwn: service.isOwn })
    const client = createServiceClient({ url: service.url, key })
    const { files } = options
    const filesFolder = (session: string) =>
      files === undefined ? path.join(settings.dataDir, 'chat-files', session.replaceAll(':', '_')) : path.resolve(terminal.cwd, files)
    const conversation = new Conversation({ client, terminal, sessionId: options.session, filesFolder })
    if (isInteractive(options, terminal)) await greet(client, terminal)
    if (!(await talk(options, conversation, terminal))) throw new CommandFailure(1, [])
  } finally {
    await service.close()
  }
}

function isInteractive({ message }: ChatOptions, { stdin }: Terminal): boolean {
  return message === undefined && stdin.isTTY === true
}

/** Longer lists of starters hide the prompt. */
const maxStarters = 5

/** Says what a person can type, with the conversation starters of the agent, if the key may read them. */
async function greet(client: ServiceClient, { stdout }: Terminal): Promise<void> {
  stdout.write('Ask something. /help lists the commands; Ctrl-C cancels an answer, Ctrl-D ends.\n')
  const starters = await client.starters().catch((error: unknown) => {
    if (error instanceof CommandFailure) return []
    throw error
  })
  const lines = starters.map((message) => message.trim()).filter((message) => message !== '')
  if (lines.length > 0) stdout.write('For example:\n')
  for (const line of lines.slice(0, maxStarters)) stdout.write(`  ${withoutControls(line).replaceAll(/\s+/g, ' ')}\n`)
}

/** Runs the conversation; false if an answer failed. */
async function talk(options: ChatOptions, conversation: Conversation, terminal: Terminal): Promise<boolean> {
  const { message } = options
  if (isInteractive(options, terminal)) {
    await converse(terminal, conversation)
    return true
  }
  const cancel = () => void conversation.cancel()
  terminal.stopping.addEventListener('abort', cancel, { once: true })
  try {
    if (message === undefined) return await answerLines(terminal, conversation)
    return (await askOnce(terminal, conversation, message)) === 'done'
  } finally {
    terminal.stopping.removeEventListener('abort', cancel)
  }
}

interface ReachedService {
  url: string
  /** True for the service of this data directory, which created the admin key there. */
  isOwn: boolean
  close(): Promise<void>
}

async function findOrStart({ url }: ChatOptions, settings: Readonly<Settings>, context: CommandContext): Promise<ReachedService> {
  const leave = async () => undefined
  const ownUrl = await findService(settings)
  if (url !== undefined) return { url, isOwn: url === ownUrl, close: leave }
  if (ownUrl !== undefined) return { url: ownUrl, isOwn: true, close: leave }
  const missing = await findMissing(settings, context.terminal.environment)
  if (missing.length > 0) throw new CommandFailure(1, missing)
  const createdPaths = await createMissing(settings)
  if (createdPaths.includes(settings.agentConfig)) context.terminal.stderr.write(`Created ${createdPaths.join(' and ')}\n`)
  // The temporary service serves only this conversation, so it listens on loopback whatever the settings say.
  const loopbackSettings = { ...settings, host: '127.0.0.1', publicUrl: undefined }
  const { start } = await import('./start.ts')
  const { service, release } = await start({ ...context, settings: loopbackSettings, port: 0, isQuiet: true, mayMakeSample: true })
  const { port } = service.app.server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    isOwn: true,
    async close() {
      withdraw(settings.dataDir)
      await service.close(0)
      release()
    },
  }
}

function toSession(text: string): string {
  if (isId(text)) return text
  throw new InvalidArgumentError('The value must have 1 to 128 letters, digits and . _ : - and begin with a letter or digit.')
}
