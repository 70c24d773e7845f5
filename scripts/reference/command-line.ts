import { Writable } from 'node:stream'
import { type Command } from 'commander'
import { createProgram } from '../../src/cli/command.ts'
import { exitCodes } from '../../src/cli/terminal.ts'
import { toAnchorLink, toCode, toCodeBlock, toDefault, toFieldText, toList, toPage, toProse, toTable } from './markdown.ts'

/** The page of the commands, from their definitions. */
export async function commandLinePage(): Promise<string> {
  const head = { title: 'Command line', description: 'Every command of agent-core with its arguments and options, and the exit codes.' }
  const commands = listCommands(await createProgram(context()))
  return toPage(head, [introduction, toContents(commands), ...commands.map(toSection), exitCodesSection()])
}

const introduction = `\`agent-core\` is one program. In a checkout, and where the package is installed, run \`npx --no-install agent-core ...\`. Without the option, npx would fetch another package of this name where none is installed. Every command supports \`--help\`.

Commands read the same [environment variables](environment.md) as the service: run them in its folder, and with its variables.`

/** A terminal that shows nothing: commands are described, not run. */
function context(): Parameters<typeof createProgram>[0] {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = {
    command: 'agent-core',
    environment: {},
    cwd: '.',
    stdin: process.stdin,
    stdout: silent,
    stderr: silent,
    stopping: new AbortController().signal,
  }
  return { terminal, version: '' }
}

/** The commands that do something: a command with commands of its own is only their prefix. */
function listCommands({ commands }: Command): Command[] {
  return commands.flatMap((command) => (command.commands.length > 0 ? listCommands(command) : [command]))
}

function toContents(commands: readonly Command[]): string {
  return toList(commands.map((command) => `${toAnchorLink(nameOf(command))}: ${toProse(firstSentence(command.description()))}`))
}

function nameOf(command: Command): string {
  const { parent } = command
  return parent ? `${nameOf(parent)} ${command.name()}` : command.name()
}

function toSection(command: Command): string {
  const parts = [`## ${nameOf(command)}`, toProse(command.description()), toCodeBlock('text', `${nameOf(command)} ${command.usage()}`)]
  const rows = [
    ...command.registeredArguments.map((argument) => ({
      flags: argument.name(),
      mandatory: argument.required,
      description: argument.description,
      defaultValue: argument.defaultValue as unknown,
      defaultValueDescription: argument.defaultValueDescription,
    })),
    ...command.options,
  ]
    .filter(({ description }) => description !== '')
    .map(({ flags, description, defaultValue, defaultValueDescription, mandatory }) => {
      const value = defaultValueDescription ?? (Array.isArray(defaultValue) ? defaultValue.join(',') : defaultValue)
      return [toCode(flags), toFieldText({ description: capitalised(description), isRequired: mandatory, fallback: toDefault(value) })]
    })
  if (rows.length > 0) parts.push(toTable(['Option', 'Description'], rows))
  const notes = notesOf(command)
  if (notes !== '') parts.push(toProse(notes))
  return parts.join('\n\n')
}

/** The text that the help shows after the options. The list of variables has a page of its own. */
function notesOf(command: Command): string {
  let shown = ''
  command.configureOutput({ writeOut: (text) => (shown += text) })
  command.outputHelp()
  const notes = shown.slice(command.helpInformation().length).trim()
  return notes.startsWith('Environment variables') ? '' : notes
}

function exitCodesSection(): string {
  const rows = Object.entries(exitCodes).map(([code, meaning]) => [code, toProse(meaning)])
  return `## Exit codes\n\n${toTable(['Code', 'Meaning'], rows)}`
}

function firstSentence(text: string): string {
  return /^.*?\.(?= |$)/.exec(text)?.[0] ?? text
}

function capitalised(text: string): string {
  return text === '' ? '' : `${text[0]!.toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`
}
