import { variableGroups, type Variable } from '../settings/variables.ts'

/** The environment variables for `serve --help`: name and default, then the first sentence of the description. */
export function variablesHelp(): string {
  const groups = variableGroups.map(({ title, variables }) => {
    const lines = Object.entries<Variable>(variables).map(
      ([name, variable]) => `  ${name}${defaultOf(variable)}\n      ${firstSentence(variable)}`,
    )
    return `${title}:\n${lines.join('\n')}`
  })
  return `\nEnvironment variables, read once at the start:\n\n${groups.join('\n\n')}`
}

function defaultOf({ default: value, unset }: Variable): string {
  const text = value || unset
  return text === undefined ? '' : ` (${plain(text)})`
}

function firstSentence({ description }: Variable): string {
  return plain(/^.*?[.](?= |$)/.exec(description)![0])
}

function plain(text: string): string {
  return text.replaceAll('`', '')
}
