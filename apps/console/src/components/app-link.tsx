import { Link, type LinkProps } from 'react-router'
import { useAppPath } from '../session/application-path.ts'

/** A link to a page of the current application: `to` is the path within it, such as `/tasks/1`. */
export function AppLink({ to, ...rest }: Omit<LinkProps, 'to'> & { to: string }) {
  const pathOf = useAppPath()
  return <Link to={pathOf(to)} {...rest} />
}
