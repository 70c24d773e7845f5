/** Resolves `${NAME}` in secrets and addresses of the configuration. Used only where the value is used: what is kept stays a reference. */

/** The service's own secrets: an agent's configuration can't send them anywhere. */
const own = /^(DATABASE_URL|CALLBACK_SECRET|SECRET_KEY|AWS_.*|S3_.*)$/

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/** The names that a text refers to. */
export function referencesIn(text: string): string[] {
  return [...text.matchAll(reference)].map(([, name]) => name ?? '')
}

/** Whether a variable belongs to the service itself, and is in no configuration's reach. */
export function isOwnVariable(name: string): boolean {
  return own.test(name)
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Throws an `Error` that names the variable when it is unset or may not be used. */
export function resolveReferences(text: string, environment: Environment): string {
  return text.replace(reference, (_, name: string) => {
    if (isOwnVariable(name)) throw new Error(`\${${name}} belongs to the service and can't be used in the configuration`)
    const value = environment[name]
    if (value === undefined || value === '') throw new Error(`the environment variable ${name} is not set`)
    return value
  })
}
