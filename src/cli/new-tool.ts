import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { addEntry, toToolName } from './add-tool.ts'
import { editorSettings, findEditorOptions, findsTypes } from './editor-settings.ts'
import { formatEntry, toModuleEntry } from './module-entry.ts'
import { writeNew } from './new-file.ts'
import { readSettings } from './prepare.ts'
import { CommandFailure, type CommandContext, type Terminal } from './terminal.ts'
import { exampleInput, fieldTypes, toolTemplate, type TemplateField } from './tool-template.ts'

/** Adds the command that writes a tool of the operator. */
export function addNewTool(tool: Command, { terminal }: CommandContext): void {
  tool
    .command('new')
    .description('Write a TypeScript file with a working tool as a starting point.')
    .argument('<name>', 'name of the tool and its file', toToolName)
    .option('--description <text>', 'what the tool does and when to use it; the model decides by this text')
    .option(
      '--fields <list>',
      `fields of the input, such as from,to,amount:number (types: ${Object.keys(fieldTypes).join(', ')})`,
      toFields,
    )
    .addOption(new Option('--effect <effect>', 'whether a call changes something').choices(['read', 'write']).default('read'))
    .option('--dir <folder>', 'folder for the file (default: tools, next to agent.yaml)')
    .option('--add', 'also add the tool to agent.yaml')
    .action(async (name: string, options: NewOptions) => createTool(terminal, name, options))
}

interface NewOptions {
  description?: string
  fields?: readonly TemplateField[]
  effect?: 'read' | 'write'
  dir?: string
  add?: boolean
}

function toFields(list: string): TemplateField[] {
  const fields = list.split(',').map((item) => {
    const [name = '', type = 'string', ...rest] = item.trim().split(':')
    if (!/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name) || rest.length > 0)
      throw new InvalidArgumentError('A field must be a name of letters, digits and "_", or a name and a type, such as amount:number.')
    // In the source of an object, this name sets the prototype.
    if (name === '__proto__') throw new InvalidArgumentError('A field cannot have the name __proto__.')
    if (!Object.hasOwn(fieldTypes, type))
      throw new InvalidArgumentError(`The type of "${name}" must be one of ${Object.keys(fieldTypes).join(', ')}, but is "${type}".`)
    return { name, type: type as TemplateField['type'] }
  })
  const repeated = fields.find(({ name }, index) => fields.findIndex((field) => field.name === name) !== index)
  if (repeated) throw new InvalidArgumentError(`The field "${repeated.name}" is listed twice.`)
  return fields
}

async function createTool(terminal: Terminal, name: string, { dir, add, ...template }: NewOptions): Promise<void> {
  const settings = readSettings(terminal)
  const configDir = path.dirname(settings.agentConfig)
  const folder = dir === undefined ? path.join(configDir, 'tools') : path.resolve(terminal.cwd, dir)
  const file = path.join(folder, `${name}.ts`)
  const entry = toModuleEntry(name, path.relative(configDir, file))
  const display = (target: string) => path.relative(terminal.cwd, target) || target
  const print = (line = '') => terminal.stdout.write(`${line}\n`)
  // The entry is checked before any file is written.
  const change = add ? await addEntry(settings, entry) : undefined
  await mkdir(folder, { recursive: true })
  if (!(await writeNew(file, toolTemplate({ name, ...template }))))
    throw new CommandFailure(1, [`${display(file)} already exists; nothing was changed.`])
  print(`created ${display(file)}`)
  const forEditors = path.join(folder, 'tsconfig.json')
  if (await writeNew(forEditors, editorSettings(findEditorOptions(folder))))
    print(`created ${display(forEditors)}, by which editors find the types`)
  if (change) {
    await change.write()
    print(`added ${name} to ${display(settings.agentConfig)}`)
  } else {
    print(`\nAdd this entry to "tools" in ${display(settings.agentConfig)} (--add does so):\n`)
    print(`  ${formatEntry(entry)}`)
  }
  print(`\nTry it: ${terminal.command} tool check ${display(file)} --input '${JSON.stringify(exampleInput(template))}'`)
  print('A running service uses the tool once its configuration has the entry, and then each change that you save.')
  if (!findsTypes(folder))
    print(`Editors find the types of agent-core where it is installed: ${terminal.command} init makes such a folder.`)
}
