/**
 * Whether a bill's id tells another time than the bill's. An id's upper bits are the milliseconds since
 * 1 July 2015, 04:45:20.677 UTC. An id is compared as text, since it may be no number; ids since
 * 19 January 2023 have 19 digits. A unified account's funding is dated by when it was due, and its id by
 * when it was booked, a second or two later: so an id's time may be up to a minute after the bill's.
 * @param bills the alias of the bills.
 */
export function isIdOddText(bills: string): string {
  const ms = `((date_part('epoch', ${bills}.c_time) * 1000)::bigint - 1435725920677)`;
  return `(
    octet_length(${bills}.bill_id) <> case
      when ${bills}.c_time >= timestamptz '2023-01-19T16:08:19.779Z' then 19
      else octet_length((${ms} << 22)::text)
    end
    or ${bills}.bill_id not between
      (${ms} << 22)::text
      and ((${ms} + case when ${bills}.product_type ~ '^(UTA|SPOT)' then 60000 else 0 end << 22) + 4194303)::text
  )`;
}
