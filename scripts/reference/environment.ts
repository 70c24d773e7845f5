import { loadSettings, SettingsError } from '../../src/settings/settings.ts'
import { variableGroups, type Variable, type VariableGroup } from '../../src/settings/variables.ts'
import { toCode, toDefault, toPage, toProse, toTable } from './markdown.ts'

/** The page of the environment variables, from their declaration. */
export function environmentPage(): string {
  const head = {
    title: 'Environment variables',
    description: 'Every environment variable of the service: its default, its values and what it sets.',
  }
  return toPage(head, [introduction, ...variableGroups.map(toSection)])
}

const introduction = `Variables set what concerns the process; [agent.yaml](agent-yaml.md) sets what concerns the agent. They are read once, at the start.
An empty variable counts as unset. A wrong value stops the start with a line that names it:

\`\`\`text
PORT must be a whole number from 0 to 65535, but is "abc".
\`\`\`

\`agent-core serve --help\` lists the variables, and \`agent-core doctor\` checks them. Paths are relative to the folder in which the service
starts.`

function toSection({ title, variables }: VariableGroup): string {
  const rows = Object.entries<Variable>(variables).map(([name, variable]) => [
    toCode(name),
    toShownDefault(variable),
    toDescription(name, variable),
  ])
  return `## ${title}\n\n${toTable(['Variable', 'Default', 'Description'], rows)}`
}

function toShownDefault({ default: value, unset }: Variable): string {
  return toDefault(value) ?? toProse(unset ?? '')
}

function toDescription(name: string, { description }: Variable): string {
  const rule = readRule(name)
  return toProse(rule === undefined ? description : `${description} Values: ${rule}.`)
}

/** The rule for the values of a variable, as the error for a wrong value states it; undefined for a variable with any value. */
function readRule(name: string): string | undefined {
  const problems = problemsOf({ [name]: '\u0001 \u0001' })
  for (const problem of problems) {
    const rule = new RegExp(`^${name} (?:must be|is not) (.*?)(?:, but (?:is|has) .*)?\\.$`, 's').exec(problem)?.[1]
    if (rule !== undefined && rule !== 'set') return rule
  }
  return undefined
}

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    // The credentials of a bucket are read only with a bucket.
    loadSettings({ ARTIFACT_STORE: 's3://bucket', ...environment })
    return []
  } catch (error) {
    if (error instanceof SettingsError) return error.problems
    throw error
  }
}
