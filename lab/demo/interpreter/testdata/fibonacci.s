// Computes the x0-th Fibonacci number, modulo 2^64, in x1, stores it at 0x100 and prints
// it. Machines may have different values of x0.

        movz  x1, #0            // F(n)
        movz  x2, #1            // F(n+1)
        cmp   x0, #0
        b.eq  done
next:   add   x3, x1, x2
        add   x1, x2, #0        // mov x1, x2
        add   x2, xzr, x3
        subs  x0, x0, #1
        b.ne  next
done:   movz  x4, #0x100
        str   x1, [x4]
        add   x0, xzr, x1
        svc   #1                // print x0
        hlt   #0
