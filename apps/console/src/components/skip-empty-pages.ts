import { useEffect } from 'react'

type Pages = { hasNextPage: boolean; isFetching: boolean; isError: boolean; fetchNextPage(): unknown }

/**
 * Reads on until there is an entry: pages of the history are limited by their cost as well, so one may be empty although older
 * entries exist. Returns whether it is still reading.
 */
export function useSkipEmptyPages(pages: Pages, entries: readonly unknown[]): boolean {
  const { hasNextPage, isFetching, isError, fetchNextPage } = pages
  const goesOn = entries.length === 0 && hasNextPage && !isError
  useEffect(() => {
    if (goesOn && !isFetching) void fetchNextPage()
  }, [goesOn, isFetching, fetchNextPage])
  return goesOn
}
