/** A device's page. Its id stands in the query: ids may hold dots and slashes, which servers take for files and folders. */
export const deviceLink = (guid: string) => `/device?guid=${encodeURIComponent(guid)}`
