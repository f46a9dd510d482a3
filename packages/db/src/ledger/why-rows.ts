/**
 * The reasons of a batch after an attempt: those stored in `present`, without those of pending recipients, and those of the attempt. NULL if
 * there are none.
 */
export function addWhysSql(present: string, added: string): string {
  return `CASE WHEN ${present} IS NULL THEN ${added}
    ELSE NULLIF(jsonb_path_query_array(${present}, '$[*] ? (@.f != "pending")') || coalesce(${added}, '[]'), '[]') END`
}
