/** Resolves `${NAME}` in secrets and addresses of the configuration at the time of use. Stored configurations keep the reference. */

/** Secrets of the service itself. An agent's configuration must not send these secrets to a server. */
const serviceVariable = /^(DATABASE_URL|CALLBACK_SECRET|SECRET_KEY|AWS_.*|S3_.*)$/

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/** The names of the variables in a text. */
export function referencesIn(text: string): string[] {
  return [...text.matchAll(reference)].map(([, name]) => name ?? '')
}

/** True for secrets of the service, which no configuration may use. */
export function isOwnVariable(name: string): boolean {
  return serviceVariable.test(name)
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Throws an `Error` with the name of the variable when the variable is unset or belongs to the service. */
export function resolveReferences(text: string, environment: Environment): string {
  return text.replace(reference, (_, name: string) => {
    if (isOwnVariable(name)) throw new Error(`\${${name}} belongs to the service and cannot be used in the configuration`)
    const value = environment[name]
    if (value === undefined || value === '') throw new Error(`the environment variable ${name} is not set`)
    return value
  })
}
