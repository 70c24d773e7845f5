import { useCallback } from 'react'
import { useSearchParams } from 'wouter'

/**
 * Filters of a list, kept in the address so that it can be shared: `const [filters, setFilter] = useFilters(['status', 'q'])`.
 * An absent filter is undefined; setting one to `undefined` or `''` removes it. A change replaces the entry of the history.
 */
export function useFilters<Name extends string>(
  names: readonly Name[],
): [Partial<Record<Name, string>>, (name: Name, value: string | null | undefined) => void] {
  const [search, setSearch] = useSearchParams()
  const filters: Partial<Record<Name, string>> = {}
  for (const name of names) filters[name] = search.get(name) || undefined
  const setFilter = useCallback(
    (name: Name, value: string | null | undefined) =>
      setSearch(
        (current) => {
          if (value) current.set(name, value)
          else current.delete(name)
          return current
        },
        { replace: true },
      ),
    [setSearch],
  )
  return [filters, setFilter]
}
