let code: string | undefined

/** Takes the one-time code `#code=...` out of the page's address. */
export function takeSignInCode(): void {
  const match = /^#code=([\w-]+)$/.exec(location.hash)
  if (!match) return
  code = match[1]
  history.replaceState(history.state, '', location.pathname + location.search)
}

/** The one-time code that the page was opened with; the first call uses it up. */
export function useUpSignInCode(): string | undefined {
  const current = code
  code = undefined
  return current
}

/** Whether the page was opened with a one-time code that is not used up yet. */
export function hasSignInCode(): boolean {
  return code !== undefined
}
